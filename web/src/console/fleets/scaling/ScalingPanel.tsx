/** How a fleet scales: what is there, what should be, what was decided and why. */
import { Alert, Group, SegmentedControl, Stack, Text } from "@mantine/core";
import { IconAlertTriangle } from "@tabler/icons-react";
import { useState } from "react";
import { adminGetFleetScaling, adminGetScalingDecisions, adminResumeFleetLaunches, type DecisionView, type FleetDetailView, type FleetScalingView } from "@/client";
import { useNotice } from "@/app/live";
import { readAgain } from "@/app/queries";
import { Ago } from "@/parts/Ago";
import { Listing, type Column } from "@/parts/Listing";
import { NotYet } from "@/parts/NotYet";
import { asSentence } from "@/parts/sentences";
import { secondsText } from "@/parts/times";
import { Act } from "../../parts/Act";
import { CopyLine } from "../../parts/Copy";
import { Facts } from "../../parts/Facts";
import { numberText } from "../../parts/numbers";
import { Panel } from "../../parts/Panel";
import { keyOf, useRead } from "../../parts/reading";
import { FleetMachines } from "./FleetMachines";
import { ScalingChart } from "./ScalingChart";
import { ScalingForm } from "./ScalingForm";
import { canResume, decisionText, holdText, reasonText } from "./words";

const SPANS = [{ value: "900", label: "15 min" }, { value: "3600", label: "1 hour" }, { value: "21600", label: "6 hours" }];
const DECISIONS_SHOWN = 15;

export function ScalingPanel({ fleet }: { fleet: FleetDetailView }) {
  const path = { slug: fleet.slug, stage: fleet.stage };
  const found = useRead(["scaling", fleet.id], () => adminGetFleetScaling({ path, throwOnError: true }));
  const decisions = useRead(["scaling", fleet.id, "decisions"], () => adminGetScalingDecisions({ path, throwOnError: true }));
  useNotice("scaling", () => readAgain({ queryKey: keyOf("scaling", fleet.id) }));
  if (!found.data) return <Panel title="Scaling"><NotYet of={found} h={240} /></Panel>;
  return (
    <>
      <Scaling fleet={fleet} found={found.data} decisions={decisions.data?.decisions} />
      <FleetMachines fleet={fleet} />
      <Panel title="Decisions" text="Those that changed something in the last 6 hours, newest first.">
        <Listing label="Decisions" columns={COLUMNS} rows={decisions.data?.decisions.slice(0, DECISIONS_SHOWN)} keyOf={(row) => row.decided_at} problem={decisions.error} again={() => void decisions.refetch()}
          empty={<Text size="sm" className="quiet">Nothing has changed.</Text>} />
      </Panel>
    </>
  );
}

function Scaling({ fleet, found, decisions }: { fleet: FleetDetailView; found: FleetScalingView; decisions?: DecisionView[] }) {
  const [span, setSpan] = useState("3600");
  const path = { slug: fleet.slug, stage: fleet.stage };
  const { settings } = found;
  const quiet = found.holds.filter((each) => !each.is_alerting);
  return (
    <Panel title="Scaling" text={<>From {settings.min_workers} to {settings.max_workers} workers with its queue; machines by <span className="mono">{found.adapter}</span>.</>}
      side={<Group gap="xs"><SegmentedControl size="xs" value={span} onChange={setSpan} aria-label="Time" data={SPANS} /><ScalingForm fleet={fleet} settings={settings} /></Group>}>
      <Stack>
        {found.holds.filter((each) => each.is_alerting).map((each) => (
          <Alert key={each.hold} color="orange" variant="light" icon={<IconAlertTriangle size={18} />} title={holdText(each.hold)}>
            <Stack gap="xs" align="start">
              <Text size="sm">{asSentence(each.text)}</Text>
              {canResume([each]) && (
                <Act size="compact-sm" label="Resume launches" act={() => adminResumeFleetLaunches({ path, throwOnError: true })} done="Machines are launched again from the next look on." />
              )}
            </Stack>
          </Alert>
        ))}
        <Facts facts={{
          Desired: numberText(found.desired_workers),
          Ready: `${numberText(found.ready)}${found.busy > 0 ? `, ${numberText(found.busy)} busy` : ""}`,
          Starting: numberText(found.starting),
          Draining: numberText(found.draining),
          Waiting: found.queued === 0 ? "no jobs" : `${numberText(found.queued)} ${found.queued === 1 ? "job" : "jobs"}, ${secondsText(found.backlog_seconds)} of work`,
          "Expected wait": found.expected_wait_seconds === null ? "not known" : secondsText(found.expected_wait_seconds),
          "A start takes": found.start_seconds === null ? null : secondsText(found.start_seconds),
          Costs: found.spend_per_hour === null ? null : `$${found.spend_per_hour.toFixed(2)} an hour`,
        }} />
        <Text size="sm">
          {asSentence(reasonText(found.reason))} {quiet.map((each) => `${holdText(each.hold)}: ${each.text}.`).join(" ")}{" "}
          {found.at && <span className="quiet">Decided at <time dateTime={found.at}>{new Date(found.at).toLocaleTimeString("en-GB")}</time>.</span>}
        </Text>
        {decisions && found.at && <ScalingChart decisions={decisions} now={new Date(found.at).getTime()} span={Number(span) * 1000} />}
      </Stack>
    </Panel>
  );
}

const COLUMNS: Column<DecisionView>[] = [
  { name: "When", cell: (row) => <Ago at={row.decided_at} /> },
  { name: "Desired", end: true, cell: (row) => row.desired },
  { name: "Ready", end: true, cell: (row) => row.ready },
  { name: "Starting", end: true, cell: (row) => row.starting },
  { name: "Draining", end: true, cell: (row) => row.draining },
  { name: "Waiting", end: true, cell: (row) => numberText(row.waiting) },
  { name: "Why", cell: (row) => <Text size="sm">{decisionText(row)}</Text> },
];

/** Where nothing scales yet: who provides machines is a program on the server, so it is set there. */
export function NotScaling({ fleet }: { fleet: FleetDetailView }) {
  const command = `comfyfleet fleets scale ${fleet.slug}/${fleet.stage} --max 4 --adapter command --adapter-settings '{"command": "/path/to/provider"}'`;
  return (
    <Panel title="Scaling" text="This fleet has the workers that somebody starts. The server can start and end machines with its queue instead: name a program that provides them, in a shell on the server.">
      <CopyLine value={command} label="Copy the command" />
    </Panel>
  );
}
