import { Alert, Button, Group, Stack, Text } from "@mantine/core";
import { IconMoodSad, IconRefresh } from "@tabler/icons-react";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { retryJob, type JobView } from "@/client";
import { InSight } from "@/parts/InSight";
import type { Values } from "@/parts/properties";
import { Tokens } from "@/parts/Tokens";
import { rememberForm } from "../effect/formMemory";
import { OrderProblem } from "../effect/OrderProblem";
import { walletMoved } from "../wallet/useWallet";
import { isWorthAnotherTry, isWorthChanging, sentenceFor } from "./failures";

export function Failed({ job, offered }: { job: JobView; offered: boolean }) {
  const cancelled = job.status === "cancelled";
  return (
    <Stack maw={640}>
      <Alert color={cancelled ? "gray" : "red"} variant="light" icon={<IconMoodSad size={20} />} title={cancelled ? "Cancelled" : "This did not work"}>
        <Text size="sm">{cancelled ? "It was stopped before it was done." : sentenceFor(job)}</Text>
        <Text size="sm" mt={6}>Your tokens were given back: <Tokens amount={job.credits_cost} />.</Text>
      </Alert>
      {!cancelled && job.error && <Text size="xs" className="quiet" style={{ overflowWrap: "anywhere" }}>What the machine said: {job.error}</Text>}
      <Again job={job} offered={offered} />
    </Stack>
  );
}

/** Once more, as it was or with changes. */
export function Again({ job, offered, label = "Retry", quiet = false }: { job: JobView; offered: boolean; label?: string; quiet?: boolean }) {
  const navigate = useNavigate();
  const queries = useQueryClient();
  // The same press twice is one job.
  const [key] = useState(() => `again-${job.id}-${Date.now()}`);
  const retry = useMutation({
    mutationFn: async () => (await retryJob({ path: { job_id: job.id }, body: { idempotency_key: key }, throwOnError: true })).data,
    onSuccess: (made) => {
      void walletMoved(queries);
      void navigate({ to: "/jobs/$jobId", params: { jobId: made.id } });
    },
  });
  // Of what is deleted for its age nobody knows any more what it was made from.
  if (job.expired_at !== null) return null;
  const isChangeFirst = !quiet && isWorthChanging(job);
  const retryButton = isWorthAnotherTry(job) && (
    <Button variant={quiet || isChangeFirst ? "default" : "filled"} leftSection={<IconRefresh size={16} />} loading={retry.isPending} onClick={() => retry.mutate()}>{label}</Button>
  );
  const changeButton = job.effect !== null && offered && (
    <Button
      variant={isChangeFirst ? "filled" : "default"}
      onClick={() => rememberForm(job.effect ?? "", job.properties as Values)}
      renderRoot={(props) => <Link to="/effects/$slug" params={{ slug: job.effect ?? "" }} {...props} />}
    >
      Change something
    </Button>
  );
  return (
    <Stack gap="sm">
      {retry.isError && <InSight><OrderProblem problem={retry.error} again={() => retry.mutate()} /></InSight>}
      <Group>{isChangeFirst ? <>{changeButton}{retryButton}</> : <>{retryButton}{changeButton}</>}</Group>
    </Stack>
  );
}
