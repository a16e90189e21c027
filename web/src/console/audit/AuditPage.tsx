import { Select, Tabs, Text } from "@mantine/core";
import { IconHistory } from "@tabler/icons-react";
import { useMemo, useState } from "react";
import { adminGetAuditLog, adminGetWorkerEvents, type ActionView, type WorkerEventView } from "@/client";
import { Ago } from "@/parts/Ago";
import { EmptyState } from "@/parts/EmptyState";
import { PageHead } from "@/parts/PageHead";
import { Marked } from "../parts/Marked";
import { Listing, moreOf, type Column } from "@/parts/Listing";
import { useAllTenants } from "../parts/choices";
import { useFresh, useFreshTenants, usePages } from "../parts/reading";
import { detailText } from "./detail";

const actionColumns = (slugs: Map<string, string>): Column<ActionView>[] => [
  { name: "What", cell: (row) => <Text size="sm" fw={550}>{row.action.replace(".", ": ").replaceAll("_", " ")}</Text> },
  { name: "On", cell: (row) => <span className="mono">{slugs.get(row.subject ?? "") ?? row.subject ?? "–"}</span> },
  { name: "Who", cell: (row) => <>{row.actor}<Text size="xs" className="quiet">{row.actor_kind}{row.address ? ` · ${row.address}` : ""}</Text></> },
  { name: "More", cell: (row) => <Text size="xs" className="quiet">{detailText(row.detail)}</Text> },
  { name: "When", cell: (row) => <Ago at={row.at} /> },
  { name: "No.", end: true, cell: (row) => row.seq },
];

const EVENTS: Column<WorkerEventView>[] = [
  { name: "What", cell: (row) => <Text size="sm" fw={550}>{row.event.replaceAll("_", " ").replace(".", ": ")}</Text> },
  { name: "Worker", cell: (row) => row.worker_id ?? "–" },
  { name: "Job", cell: (row) => (row.dispatch_id ? <span className="mono">…{row.dispatch_id.slice(-12)}</span> : "–") },
  { name: "More", cell: (row) => <Text size="xs" className="quiet">{detailText(row.detail)}</Text> },
  { name: "When", cell: (row) => <Ago at={row.at} /> },
];

export function AuditPage() {
  return (
    <>
      <PageHead title="Audit log" text={<Marked text="Who did what. The rows are chained: a change of one is seen by `comfyfleet audit-log verify`." />} />
      <Tabs defaultValue="actions" keepMounted={false}>
        <Tabs.List mb="md"><Tabs.Tab value="actions">What operators did</Tabs.Tab><Tabs.Tab value="workers">What workers did</Tabs.Tab></Tabs.List>
        <Tabs.Panel value="actions"><Actions /></Tabs.Panel>
        <Tabs.Panel value="workers"><WorkerEvents /></Tabs.Panel>
      </Tabs>
    </>
  );
}

function Actions() {
  const [tenant, setTenant] = useState<string | null>(null);
  const tenants = useAllTenants();
  const found = usePages(["audit", tenant], async (cursor) => {
    const { data } = await adminGetAuditLog({ query: { limit: 50, cursor, tenant_id: tenant ?? undefined }, throwOnError: true });
    return { rows: data.actions, next: data.next_cursor };
  });
  useFreshTenants("audit");
  const columns = useMemo(() => actionColumns(new Map(tenants.data?.map((each) => [each.id, each.slug]))), [tenants.data]);
  return (
    <>
      <Select label="Chain" placeholder="The installation's" clearable searchable data={(tenants.data ?? []).map((each) => ({ value: each.id, label: `${each.slug}: its credits` }))} value={tenant} onChange={setTenant} maw={280} mb="md" />
      <Listing label="Audit log" columns={columns} rows={found.rows} keyOf={(row) => String(row.seq)} problem={found.error} again={() => void found.refetch()} more={moreOf(found)} empty={<EmptyState icon={IconHistory} title="Nothing yet" />} />
    </>
  );
}

function WorkerEvents() {
  const found = usePages(["worker-events"], async (cursor) => {
    const { data } = await adminGetWorkerEvents({ query: { limit: 50, cursor }, throwOnError: true });
    return { rows: data.events, next: data.next_cursor };
  });
  useFresh("worker-events");
  return <Listing label="Worker events" columns={EVENTS} rows={found.rows} keyOf={(row) => `${row.at}:${row.event}:${row.dispatch_id ?? row.worker_id ?? ""}`} problem={found.error} again={() => void found.refetch()} more={moreOf(found)} empty={<EmptyState icon={IconHistory} title="Nothing yet" />} />;
}
