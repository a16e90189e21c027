/** What is proposed for a graph, while somebody corrects it. Pure. */
import type { PropertyBody, PropertyView } from "@/client";

/** `open`: users may set it. What they may not set stays in the graph as it is. */
export type Draft = PropertyView & { open: boolean };

export const draftsOf = (proposed: PropertyView[]): Draft[] => proposed.map((each) => ({ ...each, open: true }));

export function slugOf(name: string): string {
  return name.toLowerCase().normalize("NFKD").replace(/[^a-z0-9]+/g, "-").replace(/^-+|-+$/g, "").slice(0, 100);
}

export function bodiesOf(drafts: Draft[]): PropertyBody[] {
  return drafts.filter((each) => each.open).map((each) => ({
    name: each.name, type: each.type, label: each.label, description: each.description, default: each.default, required: each.required,
    minimum: each.minimum, maximum: each.maximum, step: each.step, choices: each.choices, multiline: each.multiline,
    placeholder: each.placeholder, node: each.node, input_name: each.input_name, is_primary_input: each.is_primary_input,
  }));
}

/** By name: a sentence. */
export function draftProblems(drafts: Draft[]): string[] {
  const open = drafts.filter((each) => each.open);
  const found: string[] = [];
  const names = new Set<string>();
  for (const each of open) {
    if (names.has(each.name)) found.push(`Two properties are called ${each.name}.`);
    names.add(each.name);
    if (each.minimum !== null && each.maximum !== null && each.minimum > each.maximum) found.push(`${each.label || each.name}: the least is more than the most.`);
  }
  if (open.filter((each) => each.is_primary_input).length > 1) found.push("Only one property can be the user's own upload.");
  return found;
}

export const whereOf = (draft: PropertyView) => (draft.placeholder ? `{{${draft.placeholder}}}` : `node ${draft.node}, ${draft.input_name}`);
