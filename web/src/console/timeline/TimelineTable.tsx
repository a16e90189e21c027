/** The same for those who cannot see the picture, or want to copy from it. */
import { Accordion, Anchor } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { Listing, type Column } from "@/parts/Listing";
import { secondsText } from "@/parts/times";
import { endText, percentText } from "../parts/numbers";
import type { Blocks, Found, Lane } from "./blocks";
import { clockText, type Window } from "./window";

const SHOWN_MAX = 100;

const ATTEMPTS: Column<Found>[] = [
  {
    name: "Job",
    cell: (row) => (
      <Anchor className="mono" underline="hover" renderRoot={(props) => <Link to="/console/dispatches/$dispatchId" params={{ dispatchId: row.dispatchId }} {...props} />}>
        …{row.dispatchId.slice(-12)}
      </Anchor>
    ),
  },
  { name: "Worker", cell: (row) => row.worker },
  { name: "Workflow", cell: (row) => row.workflow },
  { name: "From", end: true, cell: (row) => clockText(row.startMs, 0) },
  { name: "Took", end: true, cell: (row) => (row.endMs === null ? "runs" : secondsText((row.endMs - row.startMs) / 1000)) },
  { name: "Outcome", cell: (row) => (row.outcome === null ? "runs" : endText(row.outcome)) },
];

export function TimelineTable({ blocks, window }: { blocks: Blocks; window: Window }) {
  const [opened, setOpened] = useState<string | null>(null);
  return (
    <Accordion variant="contained" value={opened} onChange={setOpened}>
      <Accordion.Item value="attempts">
        <Accordion.Control>Attempts in this time, as a table</Accordion.Control>
        <Accordion.Panel>
          {opened === "attempts" && (
            <Listing label={`The latest ${SHOWN_MAX} attempts in this time`} columns={ATTEMPTS} rows={blocks.within(window.fromMs, window.toMs, SHOWN_MAX)} keyOf={(row) => String(row.index)} empty="Nothing ran in this time." />
          )}
        </Accordion.Panel>
      </Accordion.Item>
      <Accordion.Item value="workers">
        <Accordion.Control>Workers in this time, as a table</Accordion.Control>
        <Accordion.Panel>{opened === "workers" && <Workers blocks={blocks} window={window} />}</Accordion.Panel>
      </Accordion.Item>
    </Accordion>
  );
}

function Workers({ blocks, window }: { blocks: Blocks; window: Window }) {
  const columns: Column<Lane>[] = [
    { name: "Worker", cell: (row) => <Anchor inherit underline="hover" renderRoot={(props) => <Link to="/console/workers/$workerId" params={{ workerId: row.worker }} {...props} />}>{row.worker}</Anchor> },
    { name: "Fleet", cell: (row) => row.fleet ?? "–" },
    { name: "State", cell: (row) => row.status },
    { name: "Busy", end: true, cell: (row) => percentText(blocks.busyShare(row, window.fromMs, window.toMs)) },
  ];
  return <Listing label="Workers in this time" columns={columns} rows={blocks.lanes} keyOf={(row) => row.worker} empty="No worker was there." />;
}
