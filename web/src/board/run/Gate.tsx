/** The gate behind a step: how many of its best go on. */
import { Button, Group, Stack, Text } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { approveStep, reopenStep, type RunStepView, type RunView } from "@/client";
import { tellDone } from "@/parts/ConfirmAction";
import { numberOf, rangeProblem, type Entered } from "@/parts/entered";
import { NumberEntry } from "@/parts/NumberEntry";
import { Problem } from "@/parts/Problem";
import { changeRun } from "../data";
import classes from "./StepPanel.module.css";

const LIMITS = { least: 1, most: 1_000, isWhole: true };

export function Gate({ run, step }: { run: RunView; step: RunStepView }) {
  const [entered, enter] = useState<Entered>(step.top ?? run.top);
  const problem = rangeProblem(entered, LIMITS);
  const top = problem === null ? numberOf(entered) : null;
  const path = { run_id: run.id };
  const close = () => changeRun(async () => (await reopenStep({ path, body: { position: step.position }, throwOnError: true })).data);
  const approve = (count: number) =>
    changeRun(async () => (await approveStep({ path, body: { position: step.position, top: count }, throwOnError: true })).data);
  const opening = useMutation({
    mutationFn: (count: number) => approve(count),
    onSuccess: (_, count) => {
      const before = step.top;
      tellDone(`The best ${count} of “${step.name}” go on.`, before === null ? close : () => approve(before));
    },
  });
  const closing = useMutation({ mutationFn: close, onSuccess: () => tellDone("The gate is closed again. What was made behind it stays.", () => approve(step.top ?? run.top)) });
  const isOpen = step.top !== null;
  const isOver = run.status === "stopped";
  return (
    <div className={classes.gate} data-waits={!isOpen && step.alive > 0 && !isOver}>
      <Stack gap="xs">
        <Group justify="space-between" gap="xs" wrap="nowrap">
          <Text size="sm" fw={600}>{isOpen ? `Gate open for the best ${step.top}` : "Gate closed"}</Text>
          {isOpen && !isOver && <Button size="compact-xs" variant="subtle" color="gray" loading={closing.isPending} onClick={() => closing.mutate()}>Close gate</Button>}
        </Group>
        <Text size="xs" className="quiet">{told(run, step)}</Text>
        {step.alive > 0 && !isOver && (
          <Group gap="xs" align="end" wrap="nowrap">
            <NumberEntry aria-label="How many go on" size="sm" w={84} min={LIMITS.least} max={LIMITS.most} allowDecimal={false} value={entered} error={problem !== null} change={enter} />
            <Button size="sm" flex={1} variant={isOpen ? "default" : "filled"} disabled={top === null || top === step.top} loading={opening.isPending} onClick={() => top !== null && opening.mutate(top)}>
              {isOpen ? "Change" : "Approve"}
            </Button>
          </Group>
        )}
        {problem !== null && <Text size="xs" c="var(--mantine-color-error)">{problem}</Text>}
        {(opening.isError || closing.isError) && <Problem problem={opening.error ?? closing.error} />}
      </Stack>
    </div>
  );
}

function told(run: RunView, step: RunStepView): string {
  if (step.top !== null) {
    const by = step.approved_by?.startsWith("scorer:") ? "by the scorer" : step.approved_by?.startsWith("policy:") ? "by the run's rule" : "by you";
    return `Opened ${by}. Each of them gets children in the next step.`;
  }
  if (run.status === "stopped") return "The run was stopped before anybody opened it.";
  if (step.alive === 0) return "It opens once there is something to choose from.";
  const { kind, after } = run.approval;
  if (kind === "votes") return `It opens by itself after ${after} votes; there are ${step.votes}. You can open it sooner.`;
  if (kind === "scorer") return "It opens by itself when every picture is scored. You can open it sooner.";
  return "Compare them first, or let the best on as they stand.";
}
