import { Anchor, Stack, Text, TextInput } from "@mantine/core";
import { IconSitemap } from "@tabler/icons-react";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { adminCreateFleet, adminGetFleets, type FleetView } from "@/client";
import { Ago } from "@/parts/Ago";
import { tellDone } from "@/parts/ConfirmAction";
import { EmptyState } from "@/parts/EmptyState";
import { PageHead } from "@/parts/PageHead";
import { FormAction } from "../parts/Fields";
import { Listing, moreOf, type Column } from "@/parts/Listing";
import { usePages } from "../parts/reading";
import { FleetSecrets } from "./FleetSecrets";

const COLUMNS: Column<FleetView>[] = [
  {
    name: "Fleet",
    cell: (row) => (
      <>
        <Anchor fw={550} size="sm" underline="hover" renderRoot={(props) => <Link to="/console/fleets/$fleetId" params={{ fleetId: row.id }} {...props} />}>{row.name}</Anchor>
        <Text size="xs" className="quiet mono">{row.slug}/{row.stage}</Text>
      </>
    ),
  },
  { name: "Made", cell: (row) => <Ago at={row.created_at} /> },
];

export function FleetsPage() {
  const found = usePages(["fleets"], async (cursor) => {
    const { data } = await adminGetFleets({ query: { limit: 100, cursor }, throwOnError: true });
    return { rows: data.fleets, next: data.next_cursor };
  });
  return (
    <>
      <PageHead title="Fleets" text="Groups of workers, and the workflows they may run."><NewFleet /></PageHead>
      <Stack gap="lg">
        <Listing label="Fleets" columns={COLUMNS} rows={found.rows} keyOf={(row) => row.id} problem={found.error} again={() => void found.refetch()} more={moreOf(found)}
          empty={<EmptyState icon={IconSitemap} title="No fleet yet" text="A fleet has a slug and a stage, such as video in production. Workflows are assigned to it; workers register with it." />} />
        <FleetSecrets />
      </Stack>
    </>
  );
}

export function NewFleet() {
  const [slug, setSlug] = useState("");
  const [stage, setStage] = useState("production");
  const [name, setName] = useState("");
  return (
    <FormAction label="New fleet" title="A new fleet" send="Create" primary disabled={!slug || !stage}
      act={() => adminCreateFleet({ body: { slug, stage, name: name || null }, throwOnError: true })}
      onDone={() => { tellDone(`Fleet ${slug}/${stage} is there.`); setSlug(""); setName(""); }}>
      <TextInput label="Slug" description="Lower-case letters, digits and hyphens." value={slug} onChange={(event) => setSlug(event.currentTarget.value)} required data-autofocus />
      <TextInput label="Stage" value={stage} onChange={(event) => setStage(event.currentTarget.value)} required />
      <TextInput label="Name" placeholder={slug || "as the slug"} value={name} onChange={(event) => setName(event.currentTarget.value)} />
    </FormAction>
  );
}
