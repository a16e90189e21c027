/** What can be done with a run as a whole. */
import { Badge, Button, Group } from "@mantine/core";
import { IconDownload, IconPlayerPause, IconPlayerPlay } from "@tabler/icons-react";
import { useMutation } from "@tanstack/react-query";
import { notifications } from "@mantine/notifications";
import { useState } from "react";
import { sentenceOf } from "@/app/errors";
import { pauseRun, resumeRun, stopRun, type RunView } from "@/client";
import { ConfirmAction } from "@/parts/ConfirmAction";
import { changeRun } from "../data";
import { BudgetDialog } from "./BudgetDialog";
import { FailuresDrawer } from "./FailuresDrawer";

const OVER = ["completed", "failed", "stopped"];

export function RunActions({ run }: { run: RunView }) {
  const [failuresShown, showFailures] = useState(false);
  const path = { run_id: run.id };
  const turn = useMutation({
    mutationFn: () => changeRun(async () => (await (run.status === "paused" ? resumeRun : pauseRun)({ path, throwOnError: true })).data),
    onError: (problem) => notifications.show({ color: "red", message: sentenceOf(problem) }),
  });
  const failures = run.steps.reduce((sum, step) => sum + step.failures, 0);
  const isOver = OVER.includes(run.status);
  const made = run.steps.reduce((sum, step) => sum + step.made, 0);
  return (
    <Group gap="xs">
      {failures > 0 && (
        <Button variant="light" color="red" onClick={() => showFailures(true)} rightSection={<Badge size="sm" circle color="red" variant="filled">{failures}</Badge>}>Failures</Button>
      )}
      <BudgetDialog run={run} />
      {!isOver && (
        <Button
          variant="default"
          loading={turn.isPending}
          leftSection={run.status === "paused" ? <IconPlayerPlay size={16} /> : <IconPlayerPause size={16} />}
          onClick={() => turn.mutate()}
        >
          {run.status === "paused" ? "Resume" : "Pause"}
        </Button>
      )}
      {!isOver && (
        <ConfirmAction
          label="Stop"
          question="Stop this run for good?"
          text="What waits is cancelled and refunded. What was made stays, and can still be compared and exported. It cannot be started again; pause it if you only need a break."
          act={() => changeRun(async () => (await stopRun({ path, throwOnError: true })).data)}
          done="Stopped."
        />
      )}
      {made > 0 && (
        <Button component="a" href={`/api/pipeline-runs/${run.id}/export`} download variant={run.status === "completed" ? "filled" : "default"} leftSection={<IconDownload size={16} />}>
          Export
        </Button>
      )}
      <FailuresDrawer run={run} opened={failuresShown} close={() => showFailures(false)} />
    </Group>
  );
}
