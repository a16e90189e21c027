import { Group, Progress, Stack, Text } from "@mantine/core";
import type { RunView } from "@/client";
import { expected, madeOf } from "./looks";

const NUMBER = new Intl.NumberFormat("en");

/** How far it is, in pictures; the whole is an estimate until every gate is open. */
export function RunProgress({ run }: { run: RunView }) {
  const [made, whole] = [madeOf(run), expected(run)];
  const isOver = ["completed", "failed", "stopped"].includes(run.status);
  const isCertain = isOver || run.steps.slice(0, -1).every((step) => step.top !== null);
  const total = isOver ? made : Math.max(made, whole);
  return (
    <Meter
      label="Pictures"
      value={made}
      most={total}
      text={isOver ? NUMBER.format(made) : `${NUMBER.format(made)} of ${isCertain ? "" : "about "}${NUMBER.format(total)}`}
    />
  );
}

export function BudgetMeters({ run }: { run: RunView }) {
  return (
    <>
      <Meter
        label="Tokens"
        value={run.tokens_spent}
        most={run.tokens_max}
        text={run.tokens_max === null ? NUMBER.format(run.tokens_spent) : `${NUMBER.format(run.tokens_spent)} of ${NUMBER.format(run.tokens_max)}`}
      />
      <Meter
        label="Jobs"
        value={run.jobs_started}
        most={run.jobs_max}
        text={run.jobs_max === null ? NUMBER.format(run.jobs_started) : `${NUMBER.format(run.jobs_started)} of ${NUMBER.format(run.jobs_max)}`}
      />
      {run.ends_at && <Meter label="Until" value={0} most={null} text={new Date(run.ends_at).toLocaleString([], { dateStyle: "short", timeStyle: "short" })} />}
    </>
  );
}

/** A bar only where there is an end to reach. */
function Meter({ label, value, most, text }: { label: string; value: number; most: number | null; text: string }) {
  const share = most ? Math.min(100, (100 * value) / most) : 0;
  return (
    <Stack gap={4} miw={120}>
      <Group justify="space-between" gap="xs" wrap="nowrap">
        <Text size="xs" className="quiet" flex="none">{label}</Text>
        <Text size="xs" className="numbers" fw={550} style={{ whiteSpace: "nowrap" }}>{text}</Text>
      </Group>
      <Progress value={share} size={4} aria-label={`${label}: ${text}`} style={{ visibility: most ? undefined : "hidden" }} />
    </Stack>
  );
}
