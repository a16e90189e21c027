/** Decisions as steps of a curve: each holds until the next one. */
import type { DecisionView } from "@/client";

export type Step = { from: number; until: number; ready: number; starting: number; draining: number; desired: number; waiting: number };

/** Those between two times (ms), oldest first. What held at the beginning is known where a decision came before it. */
export function stepsOf(decisions: DecisionView[], begins: number, ends: number): Step[] {
  const ordered = decisions.map((each) => ({ ...each, at: new Date(each.decided_at).getTime() })).sort((one, other) => one.at - other.at);
  return ordered.flatMap(({ at, ready, starting, draining, desired, waiting }, index) => {
    const [from, until] = [Math.max(at, begins), Math.min(ordered[index + 1]?.at ?? ends, ends)];
    return until > from ? [{ from, until, ready, starting, draining, desired, waiting }] : [];
  });
}

export const mostOf = (steps: Step[]) => Math.max(1, ...steps.map((each) => Math.max(each.desired, each.ready + each.starting + each.draining)));
