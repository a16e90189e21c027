import { Anchor, Text } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { adminGetFleetMachines, type FleetDetailView, type ListedMachineView } from "@/client";
import { Ago } from "@/parts/Ago";
import { Listing, type Column } from "@/parts/Listing";
import { StatusBadge } from "@/parts/StatusBadge";
import { secondsText } from "@/parts/times";
import { Panel } from "../../parts/Panel";
import { useRead } from "../../parts/reading";

const COLUMNS: Column<ListedMachineView>[] = [
  {
    name: "Machine",
    cell: (row) => row.has_worker
      ? <Anchor fw={550} size="sm" underline="hover" renderRoot={(props) => <Link to="/console/workers/$workerId" params={{ workerId: row.id }} {...props} />}>{row.id}</Anchor>
      : <Text size="sm" className="mono">{row.id}</Text>,
  },
  { name: "Class", cell: (row) => <Text size="sm">{row.machine_class || "–"}</Text> },
  { name: "Market", cell: (row) => (row.market === "spot" ? "Spot" : "on demand") },
  { name: "Zone", cell: (row) => row.zone || "–" },
  { name: "State", cell: (row) => <StatusBadge status={row.state} /> },
  { name: "Jobs", end: true, cell: (row) => row.leases },
  { name: "Started in", end: true, cell: (row) => (row.start_s === null ? "–" : secondsText(row.start_s)) },
  { name: "Launched", cell: (row) => <Ago at={row.launched_at} /> },
];

/** What the provider runs for this fleet, and what ended within the last hour. */
export function FleetMachines({ fleet }: { fleet: FleetDetailView }) {
  const found = useRead(["scaling", fleet.id, "machines"], () => adminGetFleetMachines({ path: { slug: fleet.slug, stage: fleet.stage }, throwOnError: true }));
  return (
    <Panel title="Machines" text="Those that were launched for this fleet; the ended ones of the last hour stand below.">
      <Listing label="Machines" columns={COLUMNS} rows={found.data?.machines} keyOf={(row) => row.id} problem={found.error} again={() => void found.refetch()}
        empty={<Text size="sm" className="quiet">None: the next job starts one.</Text>} />
    </Panel>
  );
}
