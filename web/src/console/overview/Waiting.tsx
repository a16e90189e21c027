import { Anchor, Text } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import type { TenantFiguresView, WorkflowFiguresView } from "@/client";
import { Listing, type Column } from "@/parts/Listing";
import { secondsText } from "@/parts/times";
import { numberText } from "../parts/numbers";

const QUIET = (text: string) => <Text size="sm" className="quiet" py="md">{text}</Text>;

const WORKFLOWS: Column<WorkflowFiguresView>[] = [
  {
    name: "Workflow",
    cell: (row) => (
      <>
        <Anchor fw={550} size="sm" underline="hover" renderRoot={(props) => <Link to="/console/dispatches" search={{ status: "queued", workflow: row.workflow ?? undefined } as never} {...props} />}>
          {row.workflow ?? "one that is gone"}
        </Anchor>
        {row.waits_because && <Text size="xs" c="var(--mantine-color-error)">{row.waits_because}</Text>}
      </>
    ),
  },
  { name: "Waiting", end: true, cell: (row) => numberText(row.queued, row.is_at_least) },
  { name: "Longest", end: true, cell: (row) => (row.oldest_s === null ? "–" : secondsText(row.oldest_s)) },
  { name: "Leased", end: true, cell: (row) => numberText(row.running) },
];

export function WaitingWorkflows({ rows }: { rows: WorkflowFiguresView[] }) {
  return <Listing label="Queue by workflow" columns={WORKFLOWS} rows={rows} keyOf={(row) => row.workflow ?? ""} empty={QUIET("Nothing waits, and nothing runs.")} />;
}

const TENANTS: Column<TenantFiguresView>[] = [
  {
    name: "Tenant",
    cell: (row) => (
      <Anchor fw={550} size="sm" underline="hover" renderRoot={(props) => <Link to="/console/tenants/$tenantId" params={{ tenantId: row.tenant_id }} {...props} />}>
        {row.tenant ?? "one that is gone"}
      </Anchor>
    ),
  },
  { name: "Waiting", end: true, cell: (row) => numberText(row.queued, row.is_at_least) },
  { name: "Longest", end: true, cell: (row) => (row.oldest_s === null ? "–" : secondsText(row.oldest_s)) },
];

export function WaitingTenants({ rows }: { rows: TenantFiguresView[] }) {
  return <Listing label="Who waits" columns={TENANTS} rows={rows} keyOf={(row) => row.tenant_id} empty={QUIET("Nobody waits.")} />;
}
