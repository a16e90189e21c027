import { Anchor, Button, Text } from "@mantine/core";
import { IconBinaryTree2, IconPlus } from "@tabler/icons-react";
import { Link } from "@tanstack/react-router";
import { adminGetWorkflows, type WorkflowView } from "@/client";
import { Ago } from "@/parts/Ago";
import { EmptyState } from "@/parts/EmptyState";
import { PageHead } from "@/parts/PageHead";
import { StatusBadge } from "@/parts/StatusBadge";
import { Listing, moreOf, type Column } from "@/parts/Listing";
import { secondsText } from "@/parts/times";
import { usePages } from "../parts/reading";

const COLUMNS: Column<WorkflowView>[] = [
  {
    name: "Workflow",
    cell: (row) => (
      <>
        <Anchor fw={550} size="sm" underline="hover" renderRoot={(props) => <Link to="/console/workflows/$slug" params={{ slug: row.slug }} {...props} />}>{row.name}</Anchor>
        <Text size="xs" className="quiet mono">{row.slug}</Text>
      </>
    ),
  },
  { name: "State", cell: (row) => <StatusBadge status={row.is_active ? "active" : "paused"} /> },
  { name: "Version", end: true, cell: (row) => row.version },
  { name: "Expected", end: true, cell: (row) => secondsText(row.expected_s) },
  { name: "Runs on", cell: (row) => (row.provider === "cloud" ? "Comfy Cloud" : "own servers") },
  { name: "Made", cell: (row) => <Ago at={row.created_at} /> },
];

export function WorkflowsPage() {
  const found = usePages(["workflows"], async (cursor) => {
    const { data } = await adminGetWorkflows({ query: { limit: 100, cursor }, throwOnError: true });
    return { rows: data.workflows, next: data.next_cursor };
  });
  return (
    <>
      <PageHead title="Workflows" text="ComfyUI graphs that can be run, in versions that never change.">
        <Button leftSection={<IconPlus size={16} />} renderRoot={(props) => <Link to="/console/workflows/new" {...props} />}>Import a graph</Button>
      </PageHead>
      <Listing label="Workflows" columns={COLUMNS} rows={found.rows} keyOf={(row) => row.id} problem={found.error} again={() => void found.refetch()} more={moreOf(found)}
        empty={<EmptyState icon={IconBinaryTree2} title="No workflow yet" text="Import a graph as ComfyUI exports it for its API." />} />
    </>
  );
}
