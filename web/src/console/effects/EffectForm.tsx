/** An effect's own values: its name and price, and what it fixes in its workflow; beside it the form that is left to users. */
import { Select, SimpleGrid, Stack, Switch, Text, Textarea, TextInput } from "@mantine/core";
import type { ReactNode } from "react";
import { adminGetWorkflow, type PropertyView } from "@/client";
import { rangeProblem, type Entered } from "@/parts/entered";
import { NotYet } from "@/parts/NotYet";
import { NumberEntry } from "@/parts/NumberEntry";
import { PropertyForm } from "@/parts/PropertyForm";
import { firstValues, isMedia, problemsOf, type Value } from "@/parts/properties";
import { Panel } from "../parts/Panel";
import { useAllWorkflows } from "../parts/choices";
import { useRead } from "../parts/reading";
import { FormPreview } from "./FormPreview";

export type Fixed = Record<string, string | number | boolean>;
export type EffectDraft = { name: string; description: string; workflow: string | null; cost: Entered; fixed: Fixed; waits: boolean };

/** Left empty it is no price: what costs nothing is said to, with a 0. */
export const priceProblem = ({ cost }: EffectDraft) => (cost === null ? "Enter a price; 0 is free." : rangeProblem(cost, { least: 0, most: 10 ** 12, isWhole: true }));

export function EffectForm({ draft, change, assets = [], children }: { draft: EffectDraft; change: (next: Partial<EffectDraft>) => void; assets?: string[]; children?: ReactNode }) {
  const all = useAllWorkflows();
  const workflow = useRead(["workflow", draft.workflow], () => adminGetWorkflow({ path: { slug: draft.workflow ?? "" }, throwOnError: true }), { enabled: draft.workflow !== null });
  const properties = workflow.data?.version.properties ?? [];
  const fix = (name: string, value: Value | undefined) => {
    const next = Object.fromEntries(Object.entries(draft.fixed).filter(([each]) => each !== name));
    change({ fixed: value === undefined || value === null ? next : { ...next, [name]: value } });
  };
  return (
    <SimpleGrid cols={{ base: 1, lg: 2 }} spacing="lg" style={{ alignItems: "start" }}>
      <Stack gap="lg">
        <Panel title="What users see">
          <Stack>
            <TextInput label="Name" value={draft.name} onChange={(event) => change({ name: event.currentTarget.value })} required />
            {children}
            <Textarea label="Description" autosize minRows={2} value={draft.description} onChange={(event) => change({ description: event.currentTarget.value })} />
            <NumberEntry label="Price in tokens" value={draft.cost} change={(cost) => change({ cost })} error={priceProblem(draft)} min={0} allowDecimal={false} w={200} />
            <Select label="Workflow" data={(all.data ?? []).map((each) => ({ value: each.slug, label: each.name === each.slug ? each.slug : `${each.name} (${each.slug})` }))}
              value={draft.workflow} onChange={(value) => change({ workflow: value, fixed: {} })} searchable required allowDeselect={false} />
            <Switch label="Take orders while no worker can run it" description="Their jobs wait until one can. Otherwise such orders are refused." checked={draft.waits} onChange={(event) => change({ waits: event.currentTarget.checked })} />
          </Stack>
        </Panel>
        {draft.workflow && (
          <Panel title="What the effect fixes" text="What you fix here, users cannot change.">
            {workflow.data ? <Stack gap="md">{properties.map((each) => <Fix key={each.name} property={each} value={draft.fixed[each.name]} fix={(value) => fix(each.name, value)} assets={assets} />)}
              {properties.length === 0 && <Text size="sm" className="quiet">The workflow has no properties.</Text>}</Stack> : <NotYet of={workflow} h={120} />}
          </Panel>
        )}
      </Stack>
      <Panel title="The form" text="What is left to users, as they see it.">
        {draft.workflow === null ? <Text size="sm" className="quiet">Choose a workflow first.</Text> : <FormPreview properties={properties.filter((each) => !(each.name in draft.fixed))} />}
      </Panel>
    </SimpleGrid>
  );
}

function Fix({ property, value, fix, assets }: { property: PropertyView; value: string | number | boolean | undefined; fix: (value: Value | undefined) => void; assets: string[] }) {
  const media = isMedia(property);
  const first = media ? (assets[0] ?? "") : (firstValues([property])[property.name] ?? "");
  const fixed = value !== undefined;
  return (
    <div>
      <Switch label={property.label || property.name} description={media && assets.length === 0 ? "Add a file to the effect first." : undefined} checked={fixed} disabled={media && assets.length === 0}
        onChange={(event) => fix(event.currentTarget.checked ? first : undefined)} />
      {fixed && (
        <div style={{ paddingInlineStart: "3rem", paddingTop: "0.5rem" }}>
          {media ? <Select aria-label={`File for ${property.label || property.name}`} data={assets} value={String(value)} onChange={(next) => fix(next ?? undefined)} />
            : <PropertyForm properties={[{ ...property, label: `${property.label || property.name}, fixed` }]} values={{ [property.name]: value }} problems={problemsOf([property], { [property.name]: value })} change={(_, next) => fix(next ?? "")} />}
        </div>
      )}
    </div>
  );
}
