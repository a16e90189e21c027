import { Alert, Text } from "@mantine/core";
import { adminGetFleetSecrets, adminRetireFleetSecret, type FleetSecretView } from "@/client";
import { Ago } from "@/parts/Ago";
import { ConfirmAction } from "@/parts/ConfirmAction";
import { Listing, moreOf, type Column } from "@/parts/Listing";
import { StatusBadge } from "@/parts/StatusBadge";
import { Panel } from "../parts/Panel";
import { then, usePages } from "../parts/reading";

const COLUMNS: Column<FleetSecretView>[] = [
  { name: "Secret", cell: (row) => <Text size="sm" fw={550}>{row.name}</Text> },
  { name: "Opens", cell: (row) => <Text size="sm" className={row.fleet ? "mono" : undefined}>{row.fleet ?? "any fleet"}{row.allows_workflows ? ", own workflows" : ""}</Text> },
  { name: "State", cell: (row) => <StatusBadge status={row.retired_at ? "retired" : "active"} /> },
  { name: "Made", cell: (row) => <Ago at={row.created_at} /> },
  {
    name: "",
    end: true,
    cell: (row) => row.retired_at === null && (
      <ConfirmAction size="compact-sm" label="Retire" question={`Retire “${row.name}”?`}
        text="No worker can register by it any more. Those that are registered go on. This cannot be undone: a new one is made where a worker is added."
        act={then(() => adminRetireFleetSecret({ path: { secret_id: row.id }, throwOnError: true }))} done={`“${row.name}” is retired.`} />
    ),
  },
];

/** What machines show to register a worker. Only their names are known here. */
export function FleetSecrets() {
  const found = usePages(["fleet-secrets"], async (cursor) => {
    const { data } = await adminGetFleetSecrets({ query: { limit: 20, cursor }, throwOnError: true });
    return { rows: data.fleet_secrets, next: data.next_cursor };
  });
  const old = found.rows?.filter((each) => !each.has_scope && each.retired_at === null).map((each) => each.name) ?? [];
  return (
    <Panel title="Fleet secrets" text="By one of these a machine registers a worker with the fleet that it opens. To replace one: make another, start the machines with it, retire the old one.">
      {old.length > 0 && (
        <Alert color="orange" variant="light" mb="sm" title="Secrets that open every fleet and every workflow">
          Made before secrets had a scope: {old.join(", ")}. Make one for each fleet where a worker is added, give it to the machines, and retire the old one.
        </Alert>
      )}
      <Listing label="Fleet secrets" columns={COLUMNS} rows={found.rows} keyOf={(row) => row.id} problem={found.error} again={() => void found.refetch()} more={moreOf(found)}
        empty={<Text size="sm" className="quiet">None yet: one is made where a worker is added.</Text>} />
    </Panel>
  );
}
