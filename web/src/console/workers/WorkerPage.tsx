import { Alert, Anchor, Group, Stack, Text } from "@mantine/core";
import { Link, useParams } from "@tanstack/react-router";
import { adminGetWorker, type AssignmentView, type BlockView, type ComfyfleetApiOperatorViewsAttemptView as AttemptView, type DispatchView, type WorkerDetailView } from "@/client";
import { Ago } from "@/parts/Ago";
import { PageHead } from "@/parts/PageHead";
import { StatusBadge } from "@/parts/StatusBadge";
import { BlockList } from "../blocks/BlockList";
import { Facts } from "../parts/Facts";
import { Listing, type Column } from "@/parts/Listing";
import { NotYet } from "@/parts/NotYet";
import { secondsText } from "@/parts/times";
import { isSilent } from "../overview/health";
import { Panel } from "../parts/Panel";
import { endText, ordinalText } from "../parts/numbers";
import { useFresh, useRead } from "../parts/reading";
import { useLastSeen } from "./useLastSeen";
import { WorkerActions } from "./WorkerActions";

export function WorkerPage() {
  const { workerId = "" } = useParams({ strict: false });
  const found = useRead(["worker", workerId], () => adminGetWorker({ path: { worker_id: workerId }, throwOnError: true }));
  useFresh("worker", workerId);
  return (
    <>
      <PageHead title={workerId}>{found.data && <WorkerActions worker={found.data} />}</PageHead>
      {found.data ? <Worker worker={found.data} /> : <NotYet of={found} missing={{ title: "There is no such worker", to: "/console/workers", all: "See all workers" }} h={320} />}
    </>
  );
}

function Worker({ worker }: { worker: WorkerDetailView }) {
  const lastSeen = useLastSeen();
  return (
    <Stack gap="lg">
      {worker.status === "draining" && <Alert color="orange" variant="light">It finishes what it holds ({worker.open_leases}), and gets nothing new.</Alert>}
      {worker.status === "gone" && worker.drained_at !== null && <Alert color="orange" variant="light">It was drained and has left. Started again, it gets nothing until you undrain it.</Alert>}
      {worker.status === "pending" && <Alert color="orange" variant="light">It has registered and waits for your approval. Until then it gets nothing.</Alert>}
      {worker.status === "approved" && isSilent(lastSeen(worker), new Date().toISOString()) && (
        <Alert color="red" variant="light">It says nothing any more, and takes no work: its process has ended or cannot reach this server. Its log says why.</Alert>
      )}
      {unwellServers(worker.capabilities).map(([name, problem]) => <Alert key={name} color="red" variant="light">Server {name} gets no jobs: {problem}.</Alert>)}
      <Panel title="What is known of it">
        <Facts facts={{
          State: <StatusBadge status={worker.status} />,
          Fleet: worker.fleet ?? "none; it names its workflows itself",
          Leases: `${worker.open_leases} held, ${worker.max_concurrency} at once`,
          Seen: <Ago at={lastSeen(worker)} />,
          Registered: <Ago at={worker.created_at} />,
          Address: <span className="mono">{worker.address}</span>,
          Providers: worker.providers.join(", ").replaceAll("_", " "),
          Life: worker.incarnation > 1 ? `its ${ordinalText(worker.incarnation)} process` : "its first process",
          ...capabilityFacts(worker.capabilities),
        }} />
      </Panel>
      <Panel title="What it may run" text="A workflow is routed here when it is assigned and active, and the worker has what it needs.">
        <Listing label="What it may run" columns={assignmentsWith(worker.blocks)} rows={worker.assignments} keyOf={(row) => `${row.source}:${row.workflow}`} empty={<Quiet text="Nothing: assign workflows to its fleet." />} />
      </Panel>
      <Panel title="Holds now"><Listing label="Leases" columns={LEASES} rows={worker.leases} keyOf={(row) => row.id} empty={<Quiet text="Nothing." />} /></Panel>
      {worker.blocks.length > 0 && <Panel title="Is kept from" text="After a failure a worker leaves a workflow alone for a while."><BlockList rows={worker.blocks} /></Panel>}
      <Panel title="Latest attempts"><Listing label="Attempts" columns={ATTEMPTS} rows={worker.recent_attempts} keyOf={(row) => `${row.dispatch_id}:${row.epoch}`} empty={<Quiet text="It has not run anything yet." />} /></Panel>
    </Stack>
  );
}

const Quiet = ({ text }: { text: string }) => <Text size="sm" className="quiet">{text}</Text>;

/** Of a server: its name, and what it is. */
function namedText(value: unknown): string {
  if (typeof value === "string") return value;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const { name, comfyui } = value as { name?: string; comfyui?: string };
  return name === undefined ? JSON.stringify(value) : `${name}${comfyui ? ` (ComfyUI ${comfyui})` : ""}`;
}

/** Servers that get no jobs now, with the reason. */
const unwellServers = (said: Record<string, unknown>): [string, string][] =>
  Object.entries(said.unwell ?? {}).map(([name, problem]) => [name, String(problem).replace(/\.$/, "")]);

function capabilityFacts(said: Record<string, unknown>): Record<string, string> {
  const named: Record<string, string> = { servers: "Servers", unlisted_loaders: "Unlisted loaders", vram_gb: "GPU memory", node_classes: "Node classes", weights: "Weights" };
  return Object.fromEntries(Object.entries(said).filter(([name]) => name !== "unwell").map(([name, value]) => {
    const text = Array.isArray(value) ? value.map(namedText).join("; ") : typeof value === "string" ? value : JSON.stringify(value);
    return [named[name] ?? name.replaceAll("_", " "), name === "vram_gb" ? `${text} GB` : text];
  }));
}

const job = (id: string) => (
  <Anchor className="mono" underline="hover" renderRoot={(props) => <Link to="/console/dispatches/$dispatchId" params={{ dispatchId: id }} {...props} />}>…{id.slice(-12)}</Anchor>
);

/** A block does not take an assignment away, and yet nothing comes. */
function blockText(blocks: BlockView[], workflow: string): string | null {
  const found = blocks.find((each) => each.workflow === workflow || each.structure_hash === "*");
  if (!found) return null;
  if (found.half_open) return "yes, the next one as a probe after a failure";
  return `not ${found.tenant_id ? `for ${found.tenant ?? "one tenant"}` : "now"}: it failed, and is kept away for a while`;
}

const assignmentsWith = (blocks: BlockView[]): Column<AssignmentView>[] => [
  { name: "Workflow", cell: (row) => <Anchor fw={550} size="sm" underline="hover" renderRoot={(props) => <Link to="/console/workflows/$slug" params={{ slug: row.workflow }} {...props} />}>{row.workflow}</Anchor> },
  { name: "By", cell: (row) => (row.source === "fleet" ? "its fleet" : "its own word") },
  {
    name: "Routed here",
    cell: (row) => {
      if (row.routed) return <Text size="sm">{blockText(blocks, row.workflow) ?? "yes"}</Text>;
      return <Group gap={6} justify="inherit"><Text size="sm" c="var(--mantine-color-error)" fw={550}>no</Text><Text size="sm">{row.why_not.join("; ")}</Text></Group>;
    },
  },
];

const LEASES: Column<DispatchView>[] = [
  { name: "Job", cell: (row) => job(row.id) },
  { name: "Workflow", cell: (row) => row.workflow ?? "–" },
  { name: "Tenant", cell: (row) => row.tenant ?? "–" },
  { name: "Attempt", end: true, cell: (row) => `${row.attempts} of ${row.max_attempts}` },
];

const ATTEMPTS: Column<AttemptView>[] = [
  { name: "Job", cell: (row) => job(row.dispatch_id) },
  { name: "Leased", cell: (row) => <Ago at={row.granted_at} /> },
  { name: "Took", end: true, cell: (row) => (row.ended_at ? secondsText((Date.parse(row.ended_at) - Date.parse(row.granted_at)) / 1000) : "runs") },
  { name: "Ended", cell: (row) => (row.reason ? endText(row.reason) : "–") },
];
