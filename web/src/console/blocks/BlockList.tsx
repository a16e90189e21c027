import { Anchor, Text } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { adminClearBlock, type BlockView } from "@/client";
import { Ago } from "@/parts/Ago";
import { ConfirmAction } from "@/parts/ConfirmAction";
import { Listing, type Column } from "@/parts/Listing";
import { then } from "../parts/reading";

const COLUMNS: Column<BlockView>[] = [
  {
    name: "Worker",
    cell: (row) => (row.worker === null ? "one that is gone" : (
      <Anchor fw={550} size="sm" underline="hover" renderRoot={(props) => <Link to="/console/workers/$workerId" params={{ workerId: row.worker ?? "" }} {...props} />}>{row.worker}</Anchor>
    )),
  },
  { name: "Keeps away from", cell: (row) => row.workflow ?? (row.structure_hash === "*" ? "everything" : <span className="mono">{row.structure_hash.slice(0, 12)}…</span>) },
  { name: "For", cell: (row) => row.tenant ?? (row.tenant_id ? "one tenant" : "all tenants") },
  { name: "Failures", end: true, cell: (row) => row.failure_count },
  { name: "Until", cell: (row) => (row.half_open ? <Text size="sm">the next one is a probe</Text> : <Ago at={row.blocked_until} />) },
  {
    name: "",
    end: true,
    cell: (row) => row.worker !== null && (
      <ConfirmAction size="compact-sm" label="Clear" question="Clear this block?" confirm="Clear"
        text={`${row.worker} gets ${row.workflow ?? "this structure"} again from its next poll on, and its failures are forgotten. If it fails again, it is blocked again.`}
        act={then(() => adminClearBlock({ path: { worker_id: row.worker ?? "", structure_hash: row.structure_hash }, throwOnError: true }))} done="The block is cleared." />
    ),
  },
];

export function BlockList({ rows, empty = null, ...rest }: { rows: BlockView[] | undefined; empty?: ReactNode; problem?: unknown; again?: () => void; more?: { has: boolean; busy: boolean; load: () => void } }) {
  return <Listing label="Blocks" columns={COLUMNS} rows={rows} keyOf={(row) => `${row.worker}:${row.structure_hash}`} empty={empty} {...rest} />;
}
