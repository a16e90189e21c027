/** An effect's own values: its name and price, and what it sets in its workflow; beside it the form that is left to users. */
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

export type Overrides = Record<string, string | number | boolean>;
/** `fixed`: the overrides that users neither see nor may send; the others are defaults that they may change. */
export type EffectDraft = { name: string; description: string; workflow: string | null; cost: Entered; overrides: Overrides; fixed: string[]; waits: boolean };

/** Left empty it is no price: what costs nothing is said to, with a 0. */
export const priceProblem = ({ cost }: EffectDraft) => (cost === null ? "Enter a price; 0 is free." : rangeProblem(cost, { least: 0, most: 10 ** 12, isWhole: true }));

export function EffectForm({ draft, change, assets = [], children }: { draft: EffectDraft; change: (next: Partial<EffectDraft>) => void; assets?: string[]; children?: ReactNode }) {
  const all = useAllWorkflows();
  const workflow = useRead(["workflow", draft.workflow], () => adminGetWorkflow({ path: { slug: draft.workflow ?? "" }, throwOnError: true }), { enabled: draft.workflow !== null });
  const properties = workflow.data?.version.properties ?? [];
  const set = (name: string, value: Value | undefined, isFixed: boolean) => {
    const overrides = Object.fromEntries(Object.entries(draft.overrides).filter(([each]) => each !== name));
    const fixed = draft.fixed.filter((each) => each !== name);
    if (value === undefined || value === null) change({ overrides, fixed });
    else change({ overrides: { ...overrides, [name]: value }, fixed: isFixed ? [...fixed, name] : fixed });
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
              value={draft.workflow} onChange={(value) => change({ workflow: value, overrides: {}, fixed: [] })} searchable required allowDeselect={false} />
            <Switch label="Take orders while no worker can run it" description="Their jobs wait until one can. Otherwise such orders are refused." checked={draft.waits} onChange={(event) => change({ waits: event.currentTarget.checked })} />
          </Stack>
        </Panel>
        {draft.workflow && (
          <Panel title="What the effect sets" text="A fixed value is hidden from users; any other is a default that they may change.">
            {workflow.data ? <Stack gap="md">{properties.map((each) => <Setting key={each.name} property={each} value={draft.overrides[each.name]} isFixed={draft.fixed.includes(each.name)} set={(value, isFixed) => set(each.name, value, isFixed)} assets={assets} />)}
              {properties.length === 0 && <Text size="sm" className="quiet">The workflow has no properties.</Text>}</Stack> : <NotYet of={workflow} h={120} />}
          </Panel>
        )}
      </Stack>
      <Panel title="The form" text="What is left to users, as they see it.">
        {draft.workflow === null ? <Text size="sm" className="quiet">Choose a workflow first.</Text> : <FormPreview properties={openProperties(properties, draft)} />}
      </Panel>
    </SimpleGrid>
  );
}

/** What is left to users: all that is not fixed, with the effect's own defaults. */
function openProperties(properties: PropertyView[], { overrides, fixed }: EffectDraft): PropertyView[] {
  return properties.filter((each) => !fixed.includes(each.name)).map((each) => {
    const own = overrides[each.name];
    return own === undefined ? each : { ...each, default: isMedia(each) ? null : own, required: false };
  });
}

function Setting({ property, value, isFixed, set, assets }: {
  property: PropertyView; value: string | number | boolean | undefined; isFixed: boolean; set: (value: Value | undefined, isFixed: boolean) => void; assets: string[];
}) {
  const called = property.label || property.name;
  const media = isMedia(property);
  const first = media ? (assets[0] ?? "") : (firstValues([property])[property.name] ?? "");
  const isSet = value !== undefined;
  return (
    <div>
      <Switch label={called} description={media && assets.length === 0 ? "Add a file to the effect first." : undefined} checked={isSet} disabled={media && assets.length === 0}
        onChange={(event) => set(event.currentTarget.checked ? first : undefined, true)} />
      {isSet && (
        <div style={{ paddingInlineStart: "3rem", paddingTop: "0.5rem" }}>
          {media ? <Select aria-label={`File for ${called}`} data={assets} value={String(value)} onChange={(next) => set(next ?? undefined, isFixed)} />
            : <PropertyForm properties={[{ ...property, label: `${called}, ${isFixed ? "fixed" : "default"}` }]} values={{ [property.name]: value }} problems={problemsOf([property], { [property.name]: value })} change={(_, next) => set(next ?? "", isFixed)} />}
          {!property.is_primary_input && <Switch mt="xs" size="xs" label="Users may change it" aria-label={`Users may change ${called}`} checked={!isFixed} onChange={(event) => set(value, !event.currentTarget.checked)} />}
        </div>
      )}
    </div>
  );
}
