import { Anchor, Button, Group, Select, Text, TextInput } from "@mantine/core";
import { IconListDetails } from "@tabler/icons-react";
import { Link, useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { adminGetDispatches, type DispatchStatus, type DispatchView } from "@/client";
import { Ago } from "@/parts/Ago";
import { EmptyState } from "@/parts/EmptyState";
import { PageHead } from "@/parts/PageHead";
import { StatusBadge } from "@/parts/StatusBadge";
import { Listing, moreOf, type Column } from "@/parts/Listing";
import { secondsText } from "@/parts/times";
import { endText } from "../parts/numbers";
import { useAllTenants, useAllWorkflows } from "../parts/choices";
import { useFresh, usePages } from "../parts/reading";
import { useWanted } from "../parts/search";

type Wanted = { status?: DispatchStatus; workflow?: string; worker?: string; tenant?: string };
const STATUSES: DispatchStatus[] = ["queued", "delayed", "leased", "completed", "failed", "cancelled"];

const COLUMNS: Column<DispatchView>[] = [
  {
    name: "Job",
    cell: (row) => (
      <Anchor className="mono" underline="hover" renderRoot={(props) => <Link to="/console/dispatches/$dispatchId" params={{ dispatchId: row.id }} {...props} />}>…{row.id.slice(-12)}</Anchor>
    ),
  },
  { name: "State", cell: (row) => <StatusBadge status={row.status} /> },
  {
    name: "Workflow",
    cell: (row) => (
      <>
        {row.workflow ?? "–"}
        {row.error_class && <Text size="xs" className="quiet">{endText(row.error_class)}</Text>}
      </>
    ),
  },
  { name: "Tenant", cell: (row) => row.tenant ?? "–" },
  { name: "Worker", cell: (row) => row.worker ?? "–" },
  { name: "Attempts", end: true, cell: (row) => `${row.attempts} of ${row.max_attempts}` },
  { name: "Took", end: true, cell: (row) => (row.duration_seconds === null ? "–" : secondsText(row.duration_seconds)) },
  { name: "Queued", cell: (row) => <Ago at={row.queued_at} /> },
];

export function DispatchesPage() {
  const wanted = useWanted<Wanted>();
  const navigate = useNavigate();
  const want = (change: Wanted) => void navigate({ to: "/console/dispatches", search: { ...wanted, ...change } as never, replace: true });
  const found = usePages(["dispatches", wanted], async (cursor) => {
    const { status, workflow, worker, tenant } = wanted;
    const { data } = await adminGetDispatches({ query: { limit: 50, cursor, status, workflow, worker, tenant_id: tenant }, throwOnError: true });
    return { rows: data.dispatches, next: data.next_cursor };
  });
  useFresh("dispatches");
  const filtered = Object.values(wanted).some(Boolean);
  return (
    <>
      <PageHead title="Dispatches" text="Jobs in the queue, and what became of them. Newest first." />
      <Filters wanted={wanted} want={want} />
      <Listing label="Dispatches" columns={COLUMNS} rows={found.rows} keyOf={(row) => row.id} problem={found.error} again={() => void found.refetch()} more={moreOf(found)}
        empty={<EmptyState icon={IconListDetails} title={filtered ? "None like this" : "Nothing was dispatched yet"} text={filtered ? "Take a filter away." : "Jobs of tenants appear here as soon as they are made."} />} />
    </>
  );
}

function Filters({ wanted, want }: { wanted: Wanted; want: (change: Wanted) => void }) {
  const workflows = useAllWorkflows();
  const tenants = useAllTenants();
  const [worker, setWorker] = useState(wanted.worker ?? "");
  return (
    <Group gap="xs" mb="md" align="end">
      <Select label="State" placeholder="any" clearable data={STATUSES} value={wanted.status ?? null} onChange={(value) => want({ status: value ?? undefined })} w={130} />
      <Select label="Workflow" placeholder="any" clearable searchable data={(workflows.data ?? []).map((each) => each.slug)} value={wanted.workflow ?? null} onChange={(value) => want({ workflow: value ?? undefined })} w={180} />
      <Select label="Tenant" placeholder="any" clearable searchable data={(tenants.data ?? []).map((each) => ({ value: each.id, label: each.slug }))} value={wanted.tenant ?? null} onChange={(value) => want({ tenant: value ?? undefined })} w={160} />
      <form onSubmit={(event) => { event.preventDefault(); want({ worker: worker.trim() || undefined }); }}>
        <TextInput label="Worker" placeholder="any" value={worker} onChange={(event) => setWorker(event.currentTarget.value)} onBlur={() => want({ worker: worker.trim() || undefined })} w={160} />
      </form>
      {Object.values(wanted).some(Boolean) && (
        <Button variant="subtle" color="gray" onClick={() => { setWorker(""); want({ status: undefined, workflow: undefined, worker: undefined, tenant: undefined }); }}>Clear</Button>
      )}
    </Group>
  );
}
