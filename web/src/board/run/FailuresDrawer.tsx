import { Box, Button, Drawer, Group, Stack, Text } from "@mantine/core";
import { IconRefresh } from "@tabler/icons-react";
import { useMutation, useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { queries } from "@/app/queries";
import { retryRunJob, type RunJobView, type RunView } from "@/client";
import { Ago } from "@/parts/Ago";
import { NotYet } from "@/parts/NotYet";
import { OrderProblem } from "@/studio/effect/OrderProblem";
import { failuresQuery, runQuery } from "../data";

export function FailuresDrawer({ run, opened, close }: { run: RunView; opened: boolean; close: () => void }) {
  return (
    <Drawer opened={opened} onClose={close} position="right" size="md" title="What failed">
      {opened && <List run={run} />}
    </Drawer>
  );
}

function List({ run }: { run: RunView }) {
  const found = useQuery(failuresQuery(run.id));
  const all = useMutation({
    mutationFn: async (jobs: RunJobView[]) => {
      for (const job of jobs) await retry(run, job);
    },
    onSettled: () => refresh(run),
  });
  if (!found.data) return <NotYet of={found} h={160} />;
  if (found.data.length === 0) return <Text className="quiet">Nothing that could be tried again.</Text>;
  return (
    <Stack>
      <Text size="sm" className="quiet">Each was refunded. Retried, it uses the same graph, seed and place in the tree.</Text>
      {found.data.length > 1 && (
        <Button variant="default" loading={all.isPending} leftSection={<IconRefresh size={16} />} onClick={() => all.mutate(found.data)}>Retry all {found.data.length}</Button>
      )}
      {all.isError && <OrderProblem problem={all.error} again={() => all.mutate(found.data)} />}
      {found.data.map((job) => <Failure key={job.job_id} run={run} job={job} />)}
    </Stack>
  );
}

function Failure({ run, job }: { run: RunView; job: RunJobView }) {
  const again = useMutation({ mutationFn: () => retry(run, job), onSettled: () => refresh(run) });
  return (
    <div className="surface" style={{ padding: "0.75rem" }}>
      <Group justify="space-between" wrap="nowrap" align="start">
        <div>
          <Text size="sm" fw={600}>{run.steps[job.position]?.name}</Text>
          <Text size="sm">{job.error ?? "It failed."}</Text>
          <Text size="xs" className="quiet"><Ago at={job.ended_at ?? job.created_at} /> · <Link to={`/jobs/${job.job_id}` as "/"}>the job</Link></Text>
        </div>
        <Button size="compact-sm" variant="default" loading={again.isPending} onClick={() => again.mutate()}>Retry</Button>
      </Group>
      {again.isError && <Box mt="xs"><OrderProblem problem={again.error} again={() => again.mutate()} /></Box>}
    </div>
  );
}

const retry = (run: RunView, job: RunJobView) => retryRunJob({ path: { run_id: run.id, job_id: job.job_id }, throwOnError: true });

function refresh(run: RunView) {
  void queries.invalidateQueries({ queryKey: failuresQuery(run.id).queryKey });
  void queries.invalidateQueries({ queryKey: runQuery(run.id).queryKey, exact: true });
}
