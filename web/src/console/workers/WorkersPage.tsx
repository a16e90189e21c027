import { Anchor, Button, SegmentedControl, Stack, Text } from "@mantine/core";
import { IconPlus, IconServer2 } from "@tabler/icons-react";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { adminGetWorkers, type WorkerStatus, type WorkerView } from "@/client";
import { Ago } from "@/parts/Ago";
import { EmptyState } from "@/parts/EmptyState";
import { PageHead } from "@/parts/PageHead";
import { StatusBadge } from "@/parts/StatusBadge";
import { Listing, moreOf, type Column } from "@/parts/Listing";
import { useFresh, usePages } from "../parts/reading";
import { useLastSeen } from "./useLastSeen";

const STATES: { value: WorkerStatus | "all"; label: string }[] = [
  { value: "all", label: "All" }, { value: "approved", label: "Approved" }, { value: "pending", label: "Pending" },
  { value: "draining", label: "Draining" }, { value: "gone", label: "Gone" }, { value: "revoked", label: "Revoked" },
];

const columnsOf = (lastSeen: (worker: WorkerView) => string): Column<WorkerView>[] => [
  {
    name: "Worker",
    cell: (row) => (
      <>
        <Anchor fw={550} size="sm" underline="hover" renderRoot={(props) => <Link to="/console/workers/$workerId" params={{ workerId: row.worker_id }} {...props} />}>{row.worker_id}</Anchor>
        <Text size="xs" className="quiet">{row.fleet ?? "no fleet"}</Text>
      </>
    ),
  },
  { name: "State", cell: (row) => <StatusBadge status={row.status} /> },
  { name: "Leases", end: true, cell: (row) => `${row.open_leases} of ${row.max_concurrency}` },
  { name: "Seen", cell: (row) => <Ago at={lastSeen(row)} /> },
  { name: "Registered", cell: (row) => <Ago at={row.created_at} /> },
];

export function WorkersPage() {
  const [status, setStatus] = useState<WorkerStatus | "all">("all");
  const found = usePages(["workers", status], async (cursor) => {
    const { data } = await adminGetWorkers({ query: { limit: 100, cursor, status: status === "all" ? undefined : status }, throwOnError: true });
    return { rows: data.workers, next: data.next_cursor };
  });
  useFresh("workers");
  const columns = columnsOf(useLastSeen());
  return (
    <Stack gap={0}>
      <PageHead title="Workers" text="Agents beside a ComfyUI that take work.">
        <Button leftSection={<IconPlus size={16} />} renderRoot={(props) => <Link to="/console/add-worker" {...props} />}>Add a worker</Button>
      </PageHead>
      <div style={{ overflowX: "auto", marginBottom: "1rem" }}>
        <SegmentedControl aria-label="State" data={STATES} value={status} onChange={setStatus} />
      </div>
      <Listing
        label="Workers"
        columns={columns}
        rows={found.rows}
        keyOf={(row) => row.worker_id}
        problem={found.error}
        again={() => void found.refetch()}
        more={moreOf(found)}
        empty={<EmptyState icon={IconServer2} title={status === "all" ? "No worker yet" : `None is ${status}`} text="A worker is a small agent beside a ComfyUI. It needs no open port: it asks for work." />}
      />
    </Stack>
  );
}
