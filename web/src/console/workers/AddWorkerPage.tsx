/** From nothing to a worker that takes work: a fleet, a secret, a line for the terminal. */
import { Alert, Button, Group, Loader, Select, Stack, Text, ThemeIcon, Title } from "@mantine/core";
import { IconCheck } from "@tabler/icons-react";
import { useMutation } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState, type ReactNode } from "react";
import { adminCreateFleetSecret, adminGetStartCommand, adminGetWorkers } from "@/client";
import { NotYet } from "@/parts/NotYet";
import { PageHead } from "@/parts/PageHead";
import { Problem } from "@/parts/Problem";
import { NewFleet } from "../fleets/FleetsPage";
import { CopyLine } from "../parts/Copy";
import { useAllFleets } from "../parts/choices";
import { useFresh, useRead } from "../parts/reading";
import { useWanted } from "../parts/search";

// As the server writes it where a secret has to be put in.
const PASTE_HERE = "'<paste a fleet secret>'";

export function AddWorkerPage() {
  const { fleet: wanted } = useWanted<{ fleet?: string }>();
  const fleets = useAllFleets();
  const [picked, setPicked] = useState<string | null>(wanted ?? null);
  const fleetId = picked ?? fleets.data?.[0]?.id ?? null;
  // A secret opens the fleet it was made for, and no other.
  const [made, setMade] = useState<{ fleetId: string; secret: string } | null>(null);
  const secret = made !== null && made.fleetId === fleetId ? made.secret : null;
  const fleet = fleets.data?.find((each) => each.id === fleetId);
  return (
    <>
      <PageHead title="Add a worker" text="The agent runs beside a ComfyUI and asks for work: it needs no open port, only a way to this server." />
      <Stack gap="lg" maw={760}>
        <Step number={1} title="Which fleet does it join?" done={fleetId !== null}>
          {fleets.isError && <Problem problem={fleets.error} again={() => void fleets.refetch()} />}
          <Group gap="xs" align="end">
            {fleets.data && fleets.data.length > 0 && (
              <Select aria-label="Fleet" value={fleetId} onChange={setPicked} allowDeselect={false} searchable w={280}
                data={fleets.data.map((each) => ({ value: each.id, label: `${each.name} (${each.slug}/${each.stage})` }))} />
            )}
            <NewFleet />
          </Group>
        </Step>
        <Step number={2} title="A fleet secret lets it register" done={secret !== null}>
          {fleet ? <SecretStep key={fleet.id} fleet={`${fleet.slug}/${fleet.stage}`} secret={secret} keep={(value) => setMade({ fleetId: fleet.id, secret: value })} /> : <Text size="sm" className="quiet">Choose a fleet first.</Text>}
        </Step>
        <Step number={3} title="Start it on the machine with the ComfyUI" done={false}>
          {fleetId ? <Command fleetId={fleetId} secret={secret} /> : <Text size="sm" className="quiet">Choose a fleet first.</Text>}
        </Step>
        <Step number={4} title="It reports here" done={false}><Arrivals /></Step>
      </Stack>
    </>
  );
}

function Step({ number, title, done, children }: { number: number; title: string; done: boolean; children: ReactNode }) {
  return (
    <section className="surface" style={{ padding: "1.25rem" }}>
      <Group gap="sm" mb="sm" wrap="nowrap">
        <ThemeIcon radius="xl" size={26} variant={done ? "filled" : "light"} aria-hidden>{done ? <IconCheck size={15} /> : number}</ThemeIcon>
        <Title order={2} fz="md">{title}</Title>
      </Group>
      {children}
    </section>
  );
}

function SecretStep({ fleet, secret, keep }: { fleet: string; secret: string | null; keep: (secret: string) => void }) {
  const make = useMutation({
    mutationFn: async () => (await adminCreateFleetSecret({ body: { name: `made in the console, ${new Date().toISOString().slice(0, 10)}`, fleet }, throwOnError: true })).data,
    onSuccess: (made) => keep(made.secret),
  });
  if (secret) return <Text size="sm">It is in the line below, and is shown this once. It serves as many workers of {fleet} as you like, and no other fleet.</Text>;
  return (
    <Stack gap="sm" align="start">
      <Text size="sm" className="quiet">If you have one, paste it into the line below. Otherwise make one: only its hash is kept.</Text>
      <Button variant="default" loading={make.isPending} onClick={() => make.mutate()}>Create secret</Button>
      {make.isError && <Problem problem={make.error} />}
    </Stack>
  );
}

function Command({ fleetId, secret }: { fleetId: string; secret: string | null }) {
  const found = useRead(["start-command", fleetId], () => adminGetStartCommand({ path: { fleet_id: fleetId }, throwOnError: true }));
  if (!found.data) return <NotYet of={found} h={56} />;
  const line = secret ? found.data.command.replace(PASTE_HERE, secret) : found.data.command;
  return (
    <Stack gap="sm">
      <CopyLine value={line} label="Copy the command" />
      <Text size="sm" className="quiet">It looks for a ComfyUI at http://127.0.0.1:8188; another one, or several, are named with <span className="mono">--server</span>.</Text>
    </Stack>
  );
}

/** Those that were not there when somebody came to this page: no clock of theirs or ours is asked. */
function Arrivals() {
  const found = useRead(["workers", "new"], () => adminGetWorkers({ query: { limit: 20 }, throwOnError: true }));
  useFresh("workers");
  const [before, setBefore] = useState<Set<string> | null>(null);
  if (before === null && found.data) setBefore(new Set(found.data.workers.map((each) => each.worker_id)));
  const come = (found.data?.workers ?? []).filter((each) => before !== null && !before.has(each.worker_id));
  if (come.length === 0) return <Group gap="sm"><Loader size="xs" type="dots" /><Text size="sm" className="quiet">Waiting for it. This page notices by itself.</Text></Group>;
  return (
    <Stack gap="xs">
      {come.map((each) => (
        <Alert key={each.worker_id} color="green" variant="light" icon={<IconCheck size={18} />}>
          <Group justify="space-between">
            <Text size="sm"><strong>{each.worker_id}</strong> {each.status === "pending" ? "has registered and waits for approval." : "is there and takes work."}</Text>
            <Button size="compact-sm" variant="default" renderRoot={(props) => <Link to="/console/workers/$workerId" params={{ workerId: each.worker_id }} {...props} />}>Look at it</Button>
          </Group>
        </Alert>
      ))}
    </Stack>
  );
}
