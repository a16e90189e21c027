import { Badge, Button, Group, Stack, Tabs, Text } from "@mantine/core";
import { Link, useParams } from "@tanstack/react-router";
import { useMemo } from "react";
import { adminActivateWorkflow, adminDeactivateWorkflow, adminGetGraph, adminGetVersions, adminGetWorkflow, adminUseVersion, type PropertyView, type VersionView, type WorkflowDetailView } from "@/client";
import { Ago } from "@/parts/Ago";
import { ConfirmAction } from "@/parts/ConfirmAction";
import { PageHead } from "@/parts/PageHead";
import { StatusBadge } from "@/parts/StatusBadge";
import { Act } from "../parts/Act";
import { Facts } from "../parts/Facts";
import { Listing, type Column } from "@/parts/Listing";
import { NotYet } from "@/parts/NotYet";
import { secondsText } from "@/parts/times";
import { bytesText } from "../parts/numbers";
import { then, useRead } from "../parts/reading";
import { whereOf } from "./drafts";
import type { Graph } from "./graph";
import { GraphPicture } from "./GraphPicture";

export function WorkflowPage() {
  const { slug = "" } = useParams({ strict: false });
  const found = useRead(["workflow", slug], () => adminGetWorkflow({ path: { slug }, throwOnError: true }));
  return (
    <>
      <PageHead title={found.data?.workflow.name ?? slug} text={<span className="mono">{slug}</span>}>{found.data && <Actions found={found.data} />}</PageHead>
      {found.data ? <Workflow found={found.data} /> : <NotYet of={found} missing={{ title: "There is no such workflow", to: "/console/workflows", all: "See all workflows" }} h={420} />}
    </>
  );
}

function Actions({ found: { workflow } }: { found: WorkflowDetailView }) {
  const named = { path: { slug: workflow.slug }, throwOnError: true } as const;
  const activate = () => adminActivateWorkflow(named);
  return (
    <>
      <Button renderRoot={(props) => <Link to="/console/effects/new" search={{ workflow: workflow.slug } as never} {...props} />}>Make an effect</Button>
      <Button variant="default" renderRoot={(props) => <Link to="/console/workflows/new" search={{ of: workflow.slug } as never} {...props} />}>New version</Button>
      {workflow.is_active ? (
        <ConfirmAction label="Deactivate" color="red" variant="light" question={`Deactivate “${workflow.name}”?`} text="No worker gets it any more, and what waits for it waits on. Its effects make no jobs."
          act={then(() => adminDeactivateWorkflow(named))} done={`${workflow.name} is deactivated.`} undo={then(activate)} />
      ) : <Act label="Activate" act={activate} done={`${workflow.name} is active again.`} />}
    </>
  );
}

function Workflow({ found: { workflow, version } }: { found: WorkflowDetailView }) {
  const graph = useRead(["graph", workflow.slug, version.version], () => adminGetGraph({ path: { slug: workflow.slug, version: version.version }, throwOnError: true }));
  const marked = useMemo(() => version.properties.flatMap((each) => (each.node ? [each.node] : [])), [version]);
  return (
    <Stack gap="lg">
      <Facts facts={{
        State: <StatusBadge status={workflow.is_active ? "active" : "paused"} />,
        Version: `${workflow.version}, ${bytesText(version.graph_bytes)}`,
        Expected: secondsText(version.expected_s),
        "Run deadline": version.run_deadline_s === null ? "as the settings say" : secondsText(version.run_deadline_s),
        "Runs on": version.provider === "cloud" ? "Comfy Cloud" : "own servers",
        "GPU memory": version.requirements.vram_gb === null ? null : `${version.requirements.vram_gb} GB`,
        Weights: version.requirements.weights.join(", "),
      }} />
      <Tabs defaultValue="graph" keepMounted={false}>
        <Tabs.List mb="md">
          <Tabs.Tab value="graph">Graph</Tabs.Tab>
          <Tabs.Tab value="properties">Properties</Tabs.Tab>
          <Tabs.Tab value="versions">Versions</Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value="graph">
          {graph.data ? (
            <GraphPicture graph={graph.data.graph as Graph} marked={marked} height={520} />
          ) : <NotYet of={graph} h={520} />}
        </Tabs.Panel>
        <Tabs.Panel value="properties">
          <Listing label="Properties" columns={PROPERTIES} rows={version.properties} keyOf={(row) => row.name} empty={<Text size="sm" className="quiet">Users can set nothing: it runs as it is.</Text>} />
        </Tabs.Panel>
        <Tabs.Panel value="versions"><Versions slug={workflow.slug} /></Tabs.Panel>
      </Tabs>
    </Stack>
  );
}

const PROPERTIES: Column<PropertyView>[] = [
  { name: "Property", cell: (row) => <><Text size="sm" fw={550}>{row.label || row.name}</Text><Text size="xs" className="quiet mono">{row.name}</Text></> },
  { name: "Type", cell: (row) => <Group gap={6} justify="inherit"><span>{row.type}</span>{row.is_primary_input && <Badge size="sm" variant="light" tt="none">the user's upload</Badge>}</Group> },
  { name: "Default", cell: (row) => (row.default === null ? "–" : <Text size="sm" lineClamp={2}>{String(row.default)}</Text>) },
  { name: "Goes to", cell: (row) => <span className="mono">{whereOf(row)}</span> },
];

function Versions({ slug }: { slug: string }) {
  const found = useRead(["versions", slug], () => adminGetVersions({ path: { slug }, throwOnError: true }));
  const inForce = found.data?.in_force;
  const putInForce = (version: number) => () => adminUseVersion({ path: { slug, version }, throwOnError: true });
  const columns: Column<VersionView>[] = [
    { name: "Version", cell: (row) => <Group gap={8} justify="inherit"><Text size="sm" fw={550}>{row.version}</Text>{row.version === inForce && <Badge size="sm" variant="light" tt="none" color="green">in force</Badge>}</Group> },
    { name: "Note", cell: (row) => row.note || "–" },
    { name: "Size", end: true, cell: (row) => bytesText(row.graph_bytes) },
    { name: "Made", cell: (row) => <Ago at={row.created_at} /> },
    { name: "", end: true, cell: (row) => (row.version === inForce ? null : <Act size="compact-sm" label="Use" act={putInForce(row.version)} done={`Version ${row.version} is in force.`} undo={inForce === undefined ? undefined : putInForce(inForce)} />) },
  ];
  return <Listing label="Versions" columns={columns} rows={found.data?.versions} keyOf={(row) => String(row.version)} problem={found.error} again={() => void found.refetch()} empty={null} />;
}
