import { Button, Group, Modal, NumberInput, Stack, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { raiseBudget, type RunView } from "@/client";
import { tellDone } from "@/parts/ConfirmAction";
import { Problem } from "@/parts/Problem";
import { changeRun } from "../data";

export function BudgetDialog({ run }: { run: RunView }) {
  const [opened, { open, close }] = useDisclosure();
  if (run.status === "stopped") return null;
  return (
    <>
      <Button variant={run.status_reason?.startsWith("budget") ? "filled" : "default"} onClick={open}>Budget</Button>
      <Modal opened={opened} onClose={close} title="Budget of this run">{opened && <Form run={run} close={close} />}</Modal>
    </>
  );
}

function Form({ run, close }: { run: RunView; close: () => void }) {
  const [tokens, setTokens] = useState<number | null>(run.tokens_max);
  const [jobs, setJobs] = useState<number | null>(run.jobs_max);
  const [hours, setHours] = useState<number | null>(null);
  const change = useMutation({
    mutationFn: () => {
      const body = { tokens_max: tokens === run.tokens_max ? null : tokens, jobs_max: jobs === run.jobs_max ? null : jobs, hours };
      return changeRun(async () => (await raiseBudget({ path: { run_id: run.id }, body, throwOnError: true })).data);
    },
    onSuccess: () => {
      close();
      tellDone("The new limits hold.");
    },
  });
  const isChanged = tokens !== run.tokens_max || jobs !== run.jobs_max || hours !== null;
  const number = (set: (value: number | null) => void) => (value: string | number) => set(typeof value === "number" ? value : null);
  return (
    <Stack>
      <Text size="sm" className="quiet">A run that was paused for want of budget goes on.</Text>
      <NumberInput label="Tokens, in all" description={`${run.tokens_spent} are spent or set aside`} placeholder="no limit" min={run.tokens_spent} allowDecimal={false} value={tokens ?? ""} onChange={number(setTokens)} data-autofocus />
      <NumberInput label="Jobs, in all" description={`${run.jobs_started} were begun`} placeholder="no limit" min={Math.max(1, run.jobs_started)} allowDecimal={false} value={jobs ?? ""} onChange={number(setJobs)} />
      <NumberInput label="Hours, from now on" placeholder={run.ends_at ? "as it stands" : "no limit"} min={0.1} value={hours ?? ""} onChange={number(setHours)} />
      {change.isError && <Problem problem={change.error} />}
      <Group justify="end" gap="xs">
        <Button variant="default" onClick={close}>Leave as it is</Button>
        <Button disabled={!isChanged} loading={change.isPending} onClick={() => change.mutate()}>Set</Button>
      </Group>
    </Stack>
  );
}
