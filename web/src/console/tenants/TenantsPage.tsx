import { Anchor, NumberInput, Text, TextInput } from "@mantine/core";
import { IconBuildingCommunity } from "@tabler/icons-react";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { adminCreateTenant, adminGetTenants, type TenantView } from "@/client";
import { Ago } from "@/parts/Ago";
import { tellDone } from "@/parts/ConfirmAction";
import { EmptyState } from "@/parts/EmptyState";
import { PageHead } from "@/parts/PageHead";
import { StatusBadge } from "@/parts/StatusBadge";
import { FormAction } from "../parts/Fields";
import { Listing, moreOf, type Column } from "@/parts/Listing";
import { usePages } from "../parts/reading";

const COLUMNS: Column<TenantView>[] = [
  {
    name: "Tenant",
    cell: (row) => (
      <>
        <Anchor fw={550} size="sm" underline="hover" renderRoot={(props) => <Link to="/console/tenants/$tenantId" params={{ tenantId: row.id }} {...props} />}>{row.name}</Anchor>
        <Text size="xs" className="quiet mono">{row.slug}</Text>
      </>
    ),
  },
  { name: "State", cell: (row) => <StatusBadge status={row.status} /> },
  { name: "Weight", end: true, cell: (row) => row.weight },
  { name: "Pool", cell: (row) => <span className="mono">{row.pool}</span> },
  { name: "Made", cell: (row) => <Ago at={row.created_at} /> },
];

export function TenantsPage() {
  const found = usePages(["tenants"], async (cursor) => {
    const { data } = await adminGetTenants({ query: { limit: 100, cursor }, throwOnError: true });
    return { rows: data.tenants, next: data.next_cursor };
  });
  return (
    <>
      <PageHead title="Tenants" text="Whose jobs run here. A weight of two is twice the share when the fleet is full."><NewTenant /></PageHead>
      <Listing label="Tenants" columns={COLUMNS} rows={found.rows} keyOf={(row) => row.id} problem={found.error} again={() => void found.refetch()} more={moreOf(found)}
        empty={<EmptyState icon={IconBuildingCommunity} title="No tenant yet" />} />
    </>
  );
}

function NewTenant() {
  const [slug, setSlug] = useState("");
  const [name, setName] = useState("");
  const [weight, setWeight] = useState<number | string>(1);
  return (
    <FormAction label="New tenant" title="A new tenant" send="Create" primary disabled={!slug}
      act={() => adminCreateTenant({ body: { slug, name: name || null, weight: Number(weight) || 1 }, throwOnError: true })}
      onDone={() => { tellDone(`Tenant ${slug} is there.`); setSlug(""); setName(""); }}>
      <TextInput label="Slug" description="Lower-case letters, digits and hyphens." value={slug} onChange={(event) => setSlug(event.currentTarget.value)} required data-autofocus />
      <TextInput label="Name" placeholder={slug || "as the slug"} value={name} onChange={(event) => setName(event.currentTarget.value)} />
      <NumberInput label="Weight" value={weight} onChange={setWeight} min={1} max={1000} />
    </FormAction>
  );
}
