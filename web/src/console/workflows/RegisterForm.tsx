import { Alert, Button, Group, MultiSelect, NumberInput, Select, SimpleGrid, Stack, Text, TextInput } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useMemo, useRef, useState } from "react";
import { adminAddVersion, adminAddWorkflow, adminAssignWorkflow, adminUseVersion, type ProposalView, type VersionView, type WorkflowDetailView } from "@/client";
import { tellDone } from "@/parts/ConfirmAction";
import { Problem } from "@/parts/Problem";
import { FormPreview } from "../effects/FormPreview";
import { Panel } from "../parts/Panel";
import { useAllFleets } from "../parts/choices";
import { refresh, then } from "../parts/reading";
import { bodiesOf, draftProblems, draftsOf, lostOf, slugOf, whereOf, type Draft } from "./drafts";
import type { Graph } from "./graph";
import { GraphPicture } from "./GraphPicture";
import { PropertyDraft } from "./PropertyDraft";

/** `of`: the workflow that gets a new version, and the one in force: what it says stays, unless somebody changes it. */
export function RegisterForm({ graph, name, proposal, of: base, again }: { graph: Graph; name: string; proposal: ProposalView; of?: WorkflowDetailView; again: () => void }) {
  const of = base?.workflow.slug;
  const before = base?.version;
  const [title, setTitle] = useState(name);
  const [slug, setSlug] = useState(of ?? slugOf(name));
  const [expected, setExpected] = useState<number | string>(before?.expected_s ?? 10);
  const [fleets, setFleets] = useState<string[] | null>(null);
  const [drafts, setDrafts] = useState<Draft[]>(() => draftsOf(proposal.properties, graph, before?.properties));
  const [output, setOutput] = useState(outputOf(graph, before) ?? proposal.output_node);
  const lost = before ? lostOf(drafts, before.properties) : [];
  // It is registered even where an assignment fails: the next press goes on from there.
  const registered = useRef<string | null>(null);
  const known = useAllFleets();
  const navigate = useNavigate();
  // One fleet is the usual case: what is registered should run.
  const assigned = fleets ?? (known.data?.length === 1 ? known.data.map((each) => each.id) : []);
  const asksOutput = proposal.output_node === null && proposal.saving_nodes.length > 1;
  const problems = draftProblems(drafts);
  const marked = useMemo(() => drafts.flatMap((each) => (each.open && each.node ? [each.node] : [])), [drafts]);
  const register = useMutation({
    // The version in force as it was at the click: afterwards it is another one.
    mutationFn: async (before: VersionView | undefined) => {
      const said = { graph, properties: bodiesOf(drafts), output_node: output, expected_s: Number(expected) || 1, ...keptOf(before) };
      if (of) await adminAddVersion({ path: { slug: of }, body: said, throwOnError: true });
      const body = { ...said, slug, name: title || slug };
      if (!of && registered.current !== JSON.stringify(body)) await adminAddWorkflow({ body, throwOnError: true });
      registered.current = JSON.stringify(body);
      for (const fleetId of of ? [] : assigned) await adminAssignWorkflow({ path: { fleet_id: fleetId, slug }, body: { is_active: true }, throwOnError: true });
      await refresh();
    },
    onSuccess: async (_, before) => {
      if (of && before) tellDone("The new version is in force. Jobs that were made before keep their graph.", then(() => adminUseVersion({ path: { slug: of, version: before.version }, throwOnError: true })));
      else tellDone(`${title || slug} is registered.`);
      await navigate({ to: "/console/workflows/$slug", params: { slug } });
    },
  });
  const change = (index: number) => (next: Partial<Draft>) => setDrafts((before) => before.map((each, place) => (place === index ? { ...each, ...next } : each)));
  return (
    <SimpleGrid cols={{ base: 1, lg: 2 }} spacing="lg" style={{ alignItems: "start" }}>
      <Stack gap="lg">
        <Panel title="The workflow">
          <Stack>
            {!of && <TextInput label="Name" value={title} onChange={(event) => { setTitle(event.currentTarget.value); setSlug(slugOf(event.currentTarget.value)); }} data-autofocus />}
            {!of && <TextInput label="Slug" description="Its name in the API; it stays." value={slug} onChange={(event) => setSlug(event.currentTarget.value)} required />}
            <NumberInput label="Expected seconds on a GPU" description="For estimates and fair shares, until there are real times." value={expected} onChange={setExpected} min={0.001} w={260} />
            {asksOutput && (
              <Select label="The result comes from" description="Several nodes could make it. The files of this one come first." placeholder="Choose a node" required={asksOutput}
                data={proposal.saving_nodes.map((each) => ({ value: each, label: titleOf(graph, each) }))} value={output} onChange={setOutput} />
            )}
            {!of && <MultiSelect label="Fleets that may run it" description="Without one it waits: assign it later." data={(known.data ?? []).map((each) => ({ value: each.id, label: `${each.slug}/${each.stage}` }))} value={assigned} onChange={setFleets} searchable />}
          </Stack>
        </Panel>
        <section className="surface" style={{ overflow: "hidden" }}>
          <div style={{ padding: "1.25rem 1.25rem 0.5rem" }}>
            <Text fw={650}>What users may set</Text>
            <Text size="sm" className="quiet">Found in the graph. What you switch off keeps the graph's own value.</Text>
          </div>
          {drafts.length === 0 && <Text size="sm" className="quiet" p="lg">Nothing: it runs as it is.</Text>}
          {drafts.map((draft, index) => <PropertyDraft key={`${draft.node}:${draft.input_name}:${draft.placeholder}`} draft={draft} change={change(index)} />)}
        </section>
        {proposal.converted && <Alert color="blue" variant="light">Converted from the editor's format{proposal.definitions ? ` with the node classes that worker ${proposal.definitions.worker_id} reported` : ""}.</Alert>}
        {lost.length > 0 && <Alert color="orange" variant="light" title="Users can no longer set">{lost.map((each) => `${each.label || each.name} (${whereOf(each)})`).join("; ")}. Effects that fix one of these will not fit.</Alert>}
        {problems.map((each) => <Alert key={each} color="red" variant="light">{each}</Alert>)}
        {register.isError && <Problem problem={register.error} />}
        <Group>
          <Button loading={register.isPending} disabled={!slug || problems.length > 0 || (asksOutput && !output)} onClick={() => register.mutate(before)}>{of ? "Use this version" : "Create workflow"}</Button>
          <Button variant="subtle" color="gray" onClick={again}>Another graph</Button>
        </Group>
      </Stack>
      <Stack gap="lg">
        <Panel title="The graph" text={`${Object.keys(graph).length} nodes. What users may set is marked.`}>
          <GraphPicture graph={graph} marked={marked} height={380} />
        </Panel>
        <Panel title="The form" text="As users would see it."><FormPreview properties={drafts.filter((each) => each.open)} /></Panel>
      </Stack>
    </SimpleGrid>
  );
}

const titleOf = (graph: Graph, node: string) => `${graph[node]?._meta?.title ?? graph[node]?.class_type ?? "unknown"} (node ${node})`;

/** Where several nodes save, somebody once said which of them makes the result. */
const outputOf = (graph: Graph, before: VersionView | undefined) => (before?.output_node && graph[before.output_node] ? before.output_node : null);

/** What a graph does not say, and somebody once did. */
function keptOf(before: VersionView | undefined) {
  if (!before) return {};
  const { provider, run_deadline_s, requirements: { vram_gb } } = before;
  return { provider, run_deadline_s, requirements: { vram_gb } };
}
