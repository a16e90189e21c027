/** Settings of a fleet that scales, as they are typed; and where a refusal belongs. */
import type { MachineClassView, ScalingSettingsBody, ScalingSettingsView } from "@/client";
import { faultOf } from "@/app/errors";
import { rangeProblem, type Entered } from "@/parts/entered";

export type ClassDraft = { name: string; speed: Entered; memory: Entered; spot: boolean; spotPrice: Entered; demand: boolean; demandPrice: Entered; zones: string };
export type ScalingDraft = {
  least: Entered; most: Entered; buffer: Entered; wait: Entered; eagerness: ScalingSettingsView["eagerness"];
  budget: Entered; delay: Entered; window: Entered; start: Entered; classes: ClassDraft[];
};

export const NEW_CLASS: ClassDraft = { name: "", speed: 1, memory: null, spot: false, spotPrice: null, demand: true, demandPrice: null, zones: "" };

export const draftOf = (said: ScalingSettingsView): ScalingDraft => ({
  least: said.min_workers, most: said.max_workers, buffer: said.buffer, wait: said.target_wait_s, eagerness: said.eagerness,
  budget: said.budget_per_hour, delay: said.down_delay_s, window: said.load_window_s, start: said.first_start_s, classes: said.classes.map(classDraft),
});

function classDraft({ name, speed, memory_gb, offers, zones }: MachineClassView): ClassDraft {
  const [spot, demand] = (["spot", "on_demand"] as const).map((market) => offers.find((each) => each.market === market));
  return {
    name, speed, memory: memory_gb, spot: spot !== undefined, spotPrice: spot?.price ?? null,
    demand: demand !== undefined, demandPrice: demand?.price ?? null, zones: zones.filter(Boolean).join(", "),
  };
}

export function bodyOf(draft: ScalingDraft): ScalingSettingsBody {
  const number = (value: Entered) => Number(value);
  const maybe = (value: Entered) => (value === null || value === "" ? null : Number(value));
  return {
    min_workers: number(draft.least), max_workers: number(draft.most), buffer: number(draft.buffer), target_wait_s: number(draft.wait),
    eagerness: draft.eagerness, budget_per_hour: maybe(draft.budget), down_delay_s: maybe(draft.delay), load_window_s: number(draft.window),
    first_start_s: number(draft.start),
    classes: draft.classes.map((each) => ({
      name: each.name.trim(), speed: number(each.speed), memory_gb: maybe(each.memory),
      offers: [
        ...(each.spot ? [{ market: "spot" as const, price: maybe(each.spotPrice) }] : []),
        ...(each.demand ? [{ market: "on_demand" as const, price: maybe(each.demandPrice) }] : []),
      ],
      zones: zonesOf(each.zones),
    })),
  };
}

function zonesOf(text: string): string[] {
  const named = text.split(",").map((each) => each.trim()).filter(Boolean);
  return named.length > 0 ? named : [""];
}

/** What can be said before anything is sent: a number is missing, or is none. By the name of its field. */
export function emptyProblems(draft: ScalingDraft): Record<string, string> {
  const found: Record<string, string> = {};
  const check = (field: string, value: Entered, { isWhole = false, isNeeded = true } = {}) => {
    const problem = value === null || value === "" ? (isNeeded ? "Enter a number." : null) : rangeProblem(value, { least: 0, isWhole });
    if (problem) found[field] = problem;
  };
  check("min_workers", draft.least, { isWhole: true });
  check("max_workers", draft.most, { isWhole: true });
  check("buffer", draft.buffer, { isWhole: true });
  check("target_wait_s", draft.wait);
  check("load_window_s", draft.window);
  check("first_start_s", draft.start);
  check("down_delay_s", draft.delay, { isNeeded: false });
  check("budget_per_hour", draft.budget, { isNeeded: false });
  for (const each of draft.classes) {
    check(`classes.${each.name.trim()}.speed`, each.speed);
    check(`classes.${each.name.trim()}.memory_gb`, each.memory, { isNeeded: false });
    check(`classes.${each.name.trim()}.spot.price`, each.spotPrice, { isNeeded: false });
    check(`classes.${each.name.trim()}.on_demand.price`, each.demandPrice, { isNeeded: false });
  }
  return found;
}

/** Which field the server refused, and why. Null: no field, or it is no refusal. */
export function refusedField(thrown: unknown, draft: ScalingDraft): { field: string; problem: string } | null {
  const { code, details } = faultOf(thrown);
  if (code === "invalid_request") return misshapen(details.problems, draft);
  if (code !== "invalid_input" || typeof details.field !== "string" || typeof details.problem !== "string") return null;
  return { field: details.field, problem: details.problem };
}

/** A value that is out of its range: the field is named by its place in what was sent. */
function misshapen(problems: unknown, draft: ScalingDraft): { field: string; problem: string } | null {
  const [first] = (Array.isArray(problems) ? problems : []) as { field?: unknown; problem?: unknown }[];
  if (typeof first?.field !== "string" || typeof first.problem !== "string") return null;
  const [, place, ...rest] = first.field.split(".");
  const found = draft.classes[Number(place)];
  if (!first.field.startsWith("classes.") || found === undefined) return { field: first.field, problem: first.problem };
  const markets = [...(found.spot ? ["spot"] : []), ...(found.demand ? ["on_demand"] : [])];
  const of = rest[0] === "offers" && rest.length > 2 ? `${markets[Number(rest[1])]}.${rest[2]}` : rest[0];
  return { field: `classes.${found.name.trim()}.${of}`, problem: first.problem };
}
