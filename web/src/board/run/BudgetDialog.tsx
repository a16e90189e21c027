import { Button, Group, Modal, Stack, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { raiseBudget, type RunView } from "@/client";
import { tellDone } from "@/parts/ConfirmAction";
import { numberOf, rangeProblem, type Entered } from "@/parts/entered";
import { NumberEntry } from "@/parts/NumberEntry";
import { Problem } from "@/parts/Problem";
import { changeRun } from "../data";

export function BudgetDialog({ run }: { run: RunView }) {
  const [opened, { open, close }] = useDisclosure();
  if (run.status === "stopped") return null;
  return (
    <>
      <Button variant={run.status_reason?.startsWith("budget") ? "filled" : "default"} onClick={open}>Set budget</Button>
      <Modal opened={opened} onClose={close} title="Budget of this run">{opened && <Form run={run} close={close} />}</Modal>
    </>
  );
}

function Form({ run, close }: { run: RunView; close: () => void }) {
  const [tokens, setTokens] = useState<Entered>(run.tokens_max);
  const [jobs, setJobs] = useState<Entered>(run.jobs_max);
  const [hours, setHours] = useState<Entered>(null);
  const [fewestTokens, fewestJobs] = [run.tokens_spent, Math.max(1, run.jobs_started)];
  const problems = {
    tokens: rangeProblem(tokens, { least: fewestTokens, most: 10 ** 15, isWhole: true }),
    jobs: rangeProblem(jobs, { least: fewestJobs, most: 10 ** 6, isWhole: true }),
    hours: rangeProblem(hours, { least: 0.1, most: 8_760 }),
  };
  // A limit is given or left as it stands; none is taken away.
  const body = { tokens_max: changed(tokens, run.tokens_max), jobs_max: changed(jobs, run.jobs_max), hours: numberOf(hours) };
  const change = useMutation({
    mutationFn: () => changeRun(async () => (await raiseBudget({ path: { run_id: run.id }, body, throwOnError: true })).data),
    onSuccess: () => {
      close();
      tellDone("The new limits hold.");
    },
  });
  const canBeSet = Object.values(body).some((each) => each !== null) && Object.values(problems).every((each) => each === null);
  const placeholder = (limit: unknown) => (limit === null ? "no limit" : "as it stands");
  return (
    <Stack>
      <Text size="sm" className="quiet">A run that was paused for want of budget goes on.</Text>
      <NumberEntry label="Tokens, in all" description={`${run.tokens_spent} are spent or set aside`} placeholder={placeholder(run.tokens_max)} min={fewestTokens} allowDecimal={false} value={tokens} error={problems.tokens} change={setTokens} data-autofocus />
      <NumberEntry label="Jobs, in all" description={`${run.jobs_started} were begun`} placeholder={placeholder(run.jobs_max)} min={fewestJobs} allowDecimal={false} value={jobs} error={problems.jobs} change={setJobs} />
      <NumberEntry label="Hours, from now on" placeholder={placeholder(run.ends_at)} min={0.1} value={hours} error={problems.hours} change={setHours} />
      {change.isError && <Problem problem={change.error} />}
      <Group justify="end" gap="xs">
        <Button variant="default" onClick={close}>Leave as it is</Button>
        <Button disabled={!canBeSet} loading={change.isPending} onClick={() => change.mutate()}>Set</Button>
      </Group>
    </Stack>
  );
}

const changed = (value: Entered, before: number | null) => (value === before ? null : numberOf(value));
