import { Alert, Anchor, Button, Group, Select, Stack, Text } from "@mantine/core";
import { Link, useParams } from "@tanstack/react-router";
import { useState } from "react";
import { adminAssignWorkflow, adminGetFleet, adminGetStartCommand, adminSetScaling, type AssignmentView, type FleetDetailView } from "@/client";
import { PageHead } from "@/parts/PageHead";
import { StatusBadge } from "@/parts/StatusBadge";
import { Act } from "../parts/Act";
import { CopyLine } from "../parts/Copy";
import { Listing, type Column } from "@/parts/Listing";
import { NotYet } from "@/parts/NotYet";
import { Panel } from "../parts/Panel";
import { useAllWorkflows } from "../parts/choices";
import { useFresh, useRead } from "../parts/reading";
import { NotScaling, ScalingPanel } from "./scaling/ScalingPanel";

export function FleetPage() {
  const { fleetId = "" } = useParams({ strict: false });
  const found = useRead(["fleet", fleetId], () => adminGetFleet({ path: { fleet_id: fleetId }, throwOnError: true }));
  useFresh("fleet", fleetId);
  return (
    <>
      <PageHead title={found.data?.name ?? "Fleet"} text={found.data && <span className="mono">{found.data.slug}/{found.data.stage}</span>}>
        <Button variant="default" renderRoot={(props) => <Link to="/console/add-worker" search={{ fleet: fleetId } as never} {...props} />}>Add a worker</Button>
      </PageHead>
      {found.data ? <Fleet fleet={found.data} /> : <NotYet of={found} missing={{ title: "There is no such fleet", to: "/console/fleets", all: "See all fleets" }} h={240} />}
    </>
  );
}

function Fleet({ fleet }: { fleet: FleetDetailView }) {
  const command = useRead(["start-command", fleet.id], () => adminGetStartCommand({ path: { fleet_id: fleet.id }, throwOnError: true }));
  const assign = (slug: string, is_active: boolean) => () => adminAssignWorkflow({ path: { fleet_id: fleet.id, slug }, body: { is_active }, throwOnError: true });
  const columns: Column<AssignmentView>[] = [
    { name: "Workflow", cell: (row) => <Anchor fw={550} size="sm" underline="hover" renderRoot={(props) => <Link to="/console/workflows/$slug" params={{ slug: row.workflow }} {...props} />}>{row.workflow}</Anchor> },
    { name: "Assigned", cell: (row) => <StatusBadge status={row.is_active ? "active" : "paused"} /> },
    { name: "Routed", cell: (row) => (row.routed ? "yes" : <Text size="sm">no: {row.why_not.join("; ")}</Text>) },
    {
      name: "",
      end: true,
      cell: (row) => row.is_active
        ? <Act size="compact-sm" label="Unassign" act={assign(row.workflow, false)} done={`Workers of this fleet get no ${row.workflow} any more.`} undo={assign(row.workflow, true)} />
        : <Act size="compact-sm" label="Assign" act={assign(row.workflow, true)} done={`Workers of this fleet may run ${row.workflow}.`} undo={assign(row.workflow, false)} />,
    },
  ];
  const counts = Object.entries(fleet.workers).filter(([, count]) => count > 0);
  return (
    <Stack gap="lg">
      {counts.length === 0 && !fleet.scales_by && <Alert color="orange" variant="light">No worker has registered with this fleet yet.</Alert>}
      {counts.length > 0 && <Group gap="xs">{counts.map(([status, count]) => <Group key={status} gap={6}><StatusBadge status={status} /><Text className="numbers">{count}</Text></Group>)}</Group>}
      {fleet.scales_by && <ScalingPanel fleet={fleet} />}
      <Panel title="What its workers may run" side={<Assign fleet={fleet} />}>
        <Listing label="Assignments" columns={columns} rows={fleet.assignments} keyOf={(row) => row.workflow} empty={<Text size="sm" className="quiet">Nothing yet: its workers get no work.</Text>} />
      </Panel>
      {!fleet.scales_by && <><FromZero fleet={fleet} /><NotScaling fleet={fleet} /></>}
      <Panel title="Start a worker" text="On the machine with the ComfyUI.">{command.data ? <CopyLine value={command.data.command} label="Copy the command" /> : <NotYet of={command} h={48} />}</Panel>
    </Stack>
  );
}

function FromZero({ fleet }: { fleet: FleetDetailView }) {
  const set = (scales_from_zero: boolean) => () => adminSetScaling({ path: { fleet_id: fleet.id }, body: { scales_from_zero }, throwOnError: true });
  const on = fleet.scales_from_zero;
  return (
    <Panel title="Scaling from zero" text="Machines of such a fleet are started when there is work: its effects are sold while it has no worker, as far as its last machines could run them."
      side={<Act label={on ? "Turn off" : "Turn on"} act={set(!on)} done={on ? "The fleet does not scale from zero." : "The fleet scales from zero."} undo={set(on)} />}>
      <StatusBadge status={on ? "active" : "paused"} />
    </Panel>
  );
}

function Assign({ fleet }: { fleet: FleetDetailView }) {
  const [slug, setSlug] = useState<string | null>(null);
  const all = useAllWorkflows();
  const given = new Set(fleet.assignments.map((each) => each.workflow));
  const free = (all.data ?? []).map((each) => each.slug).filter((each) => !given.has(each));
  if (free.length === 0) return null;
  return (
    <Group gap="xs">
      <Select aria-label="Workflow to assign" placeholder="A workflow" data={free} value={slug} onChange={setSlug} searchable size="sm" w={190} />
      <Act label="Assign" disabled={slug === null} done={`Workers of this fleet may run ${slug}.`}
        act={async () => { await adminAssignWorkflow({ path: { fleet_id: fleet.id, slug: slug ?? "" }, body: { is_active: true }, throwOnError: true }); setSlug(null); }} />
    </Group>
  );
}
