import { Group, SegmentedControl, SimpleGrid, Text } from "@mantine/core";
import { useState } from "react";
import type { EndsView } from "@/client";
import { Panel } from "../parts/Panel";
import { endText, endTone, numberText } from "../parts/numbers";
import { Bars } from "./Bars";
import classes from "./Throughput.module.css";

export function Throughput({ hour, day }: { hour: EndsView; day: EndsView }) {
  const [span, setSpan] = useState("hour");
  const ends = span === "hour" ? hour : day;
  const side = (
    <SegmentedControl size="xs" value={span} onChange={setSpan} aria-label="Time" data={[{ value: "hour", label: "1 hour" }, { value: "day", label: "24 hours" }]} />
  );
  return (
    <SimpleGrid cols={{ base: 1, lg: 2 }} spacing="lg">
      <Panel title="Throughput" text={span === "hour" ? "Attempts that ended, by the minute." : "Attempts that ended, by the quarter of an hour."} side={side}>
        <Bars ends={ends} />
      </Panel>
      <Panel title="How attempts ended" text={span === "hour" ? "In the last hour." : "In the last 24 hours."}><Reasons ends={ends} /></Panel>
    </SimpleGrid>
  );
}

function Reasons({ ends }: { ends: EndsView }) {
  const found = Object.entries(ends.by_reason);
  const most = Math.max(1, ...found.map(([, number]) => number));
  if (found.length === 0) return <Text size="sm" className="quiet">Nothing has ended.</Text>;
  return (
    <ul className={classes.reasons}>
      {found.map(([reason, number]) => (
        <li key={reason}>
          <Group justify="space-between" gap="xs" wrap="nowrap">
            <Text size="sm">{endText(reason)}</Text>
            <Text size="sm" className="numbers">{numberText(number)}</Text>
          </Group>
          <div className={classes.bar} data-tone={endTone(reason)} style={{ width: `${Math.max(1, (number / most) * 100)}%` }} />
        </li>
      ))}
    </ul>
  );
}
