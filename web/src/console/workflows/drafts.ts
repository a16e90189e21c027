/** What is proposed for a graph, while somebody corrects it. Pure. */
import type { PropertyBody, PropertyView } from "@/client";
import type { Graph } from "./graph";

/** `open`: users may set it. What they may not set stays in the graph as it is. */
export type Draft = PropertyView & { open: boolean };

/** `before`: the properties of the version in force. What was confirmed stays so; what is new waits to be opened. */
export function draftsOf(proposed: PropertyView[], graph: Graph, before?: PropertyView[]): Draft[] {
  if (!before) return proposed.map((each) => ({ ...each, open: true }));
  const kept = new Map(before.map((each) => [whereOf(each), each]));
  const found = new Set(proposed.map(whereOf));
  const more = before.filter((each) => !found.has(whereOf(each)) && hasPlaceFor(graph, each));
  return [...proposed, ...more].map((each) => {
    const known = kept.get(whereOf(each));
    return { ...(known?.type === each.type ? known : each), open: known !== undefined };
  });
}

function hasPlaceFor(graph: Graph, { placeholder, node, input_name }: PropertyView): boolean {
  if (placeholder) return JSON.stringify(graph).includes(`{{${placeholder}}}`);
  return graph[node ?? ""]?.inputs?.[input_name ?? ""] !== undefined;
}

/** Those of the version in force that the new graph has no place for. */
export function lostOf(drafts: Draft[], before: PropertyView[]): PropertyView[] {
  const places = new Set(drafts.map(whereOf));
  return before.filter((each) => !places.has(whereOf(each)));
}

export function slugOf(name: string): string {
  return name.toLowerCase().normalize("NFKD").replace(/\p{M}/gu, "").replace(/[^a-z0-9]+/g, "-").replace(/^-+|-+$/g, "").slice(0, 100);
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
