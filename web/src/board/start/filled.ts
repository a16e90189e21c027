/** What somebody filled in for a new run: what is wrong with it, and what is sent. Pure. */
import type { NewRunBody, OfferView, PipelineView } from "@/client";
import { numberOf, rangeProblem, type Entered, type Range } from "@/parts/entered";
import { problemsOf as problemsOfProperties } from "@/parts/properties";
import { folderOf, propertyOf } from "./plan";

export type Approval = "person" | "all" | "votes" | "sharpness" | "exposure" | "unique";
export type Counted = "variants" | "top" | "concurrency" | "after" | "tokens_max" | "jobs_max" | "hours_max" | "finals";
export type Filled = Record<Counted, Entered> & { name: string; folder: string | null; approval: Approval; variables: Record<string, Entered> };
/** By the field; of a variable by `variables.` and its name. */
export type Problems = Record<string, string>;

type Limits = Range & { least: number; most: number; isNeeded?: boolean };

const count = (most: number) => ({ least: 1, most, isWhole: true });
export const LIMITS: Record<Counted, Limits> = {
  variants: { ...count(1_000), isNeeded: true },
  top: { ...count(1_000), isNeeded: true },
  concurrency: { ...count(1_000), isNeeded: true },
  after: { ...count(1_000_000), isNeeded: true },
  tokens_max: count(10 ** 12),
  jobs_max: count(10 ** 6),
  hours_max: { least: 0.1, most: 8_760 },
  finals: count(10 ** 6),
};

export const firstFilled = (pipeline: PipelineView): Filled => ({
  name: pipeline.name, folder: null, variants: 8, top: 3, concurrency: 4, approval: "person", after: 20,
  tokens_max: null, jobs_max: null, hours_max: null, finals: null, variables: {},
});

export function problemsOf(pipeline: PipelineView, effects: Pick<OfferView, "slug" | "properties">[], filled: Filled): Problems {
  const counted = Object.keys(LIMITS) as Counted[];
  const found = [
    ["name", filled.name.trim() ? null : "Give it a name."],
    ...counted.map((name) => [name, countProblem(name, filled)]),
    ...pipeline.variables.map((name) => [`variables.${name}`, variableProblem(name, pipeline, effects, filled)]),
  ];
  return Object.fromEntries(found.filter((each): each is [string, string] => each[1] !== null));
}

function countProblem(name: Counted, filled: Filled): string | null {
  if (name === "after" && filled.approval !== "votes") return null;
  if (filled[name] === null) return LIMITS[name].isNeeded ? "This is needed." : null;
  return rangeProblem(filled[name], LIMITS[name]);
}

function variableProblem(name: string, pipeline: PipelineView, effects: Pick<OfferView, "slug" | "properties">[], filled: Filled): string | null {
  const value = filled.variables[name] ?? null;
  if (value === null || value === "") return "The pipeline needs this.";
  const property = propertyOf(name, pipeline, effects);
  return property ? (problemsOfProperties([{ ...property, name }], { [name]: value })[name] ?? null) : null;
}

const APPROVALS = {
  person: { kind: "person" }, all: { kind: "all" }, votes: { kind: "votes" },
  sharpness: { kind: "scorer", scorer: "sharpness" }, exposure: { kind: "scorer", scorer: "exposure" }, unique: { kind: "scorer", scorer: "unique" },
} as const;

/** Of what nothing is wrong with. */
export function bodyOf(pipeline: PipelineView, filled: Filled, key: string): NewRunBody {
  const { approval, folder, name, variables } = filled;
  // A newer version of the pipeline may have come while somebody typed: it may not know all of them.
  const known = pipeline.variables.flatMap((each) => (variables[each] === undefined || variables[each] === null ? [] : [[each, variables[each]] as const]));
  return {
    pipeline_id: pipeline.id,
    name: name.trim(),
    target_folder: folder?.trim() || folderOf(name),
    variables: Object.fromEntries(known),
    variants: numberOf(filled.variants) ?? 1,
    top: numberOf(filled.top) ?? 1,
    concurrency: numberOf(filled.concurrency) ?? 1,
    tokens_max: numberOf(filled.tokens_max),
    jobs_max: numberOf(filled.jobs_max),
    hours_max: numberOf(filled.hours_max),
    finals: numberOf(filled.finals),
    approval: approval === "votes" ? { kind: "votes", after: numberOf(filled.after) } : APPROVALS[approval],
    idempotency_key: key,
  };
}
