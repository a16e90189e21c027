import { Text } from "@mantine/core";
import { adminGetFleetSecrets, adminRetireFleetSecret, type FleetSecretView } from "@/client";
import { Ago } from "@/parts/Ago";
import { ConfirmAction } from "@/parts/ConfirmAction";
import { Listing, moreOf, type Column } from "@/parts/Listing";
import { StatusBadge } from "@/parts/StatusBadge";
import { Panel } from "../parts/Panel";
import { then, usePages } from "../parts/reading";

const COLUMNS: Column<FleetSecretView>[] = [
  { name: "Secret", cell: (row) => <Text size="sm" fw={550}>{row.name}</Text> },
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
  return (
    <Panel title="Fleet secrets" text="By one of these a machine registers a worker, with whichever fleet. To replace one: make another, start the machines with it, retire the old one.">
      <Listing label="Fleet secrets" columns={COLUMNS} rows={found.rows} keyOf={(row) => row.id} problem={found.error} again={() => void found.refetch()} more={moreOf(found)}
        empty={<Text size="sm" className="quiet">None yet: one is made where a worker is added.</Text>} />
    </Panel>
  );
}
