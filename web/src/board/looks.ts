/** How the candidates of a run compare: who is ranked where, who goes on, who is out. */
import type { LeafView, RunView } from "@/client";
import type { Look } from "./tree/paint";

export const isAlive = (leaf: LeafView) => leaf.status === "active";

const byRank = (one: LeafView, other: LeafView) => other.elo - one.elo || one.id.localeCompare(other.id);

/** Of one step, the best first; those that were rejected come last. */
export function ranked(leaves: LeafView[], position: number): LeafView[] {
  const ofStep = leaves.filter((leaf) => leaf.position === position);
  return ofStep.sort((one, other) => Number(isAlive(other)) - Number(isAlive(one)) || byRank(one, other));
}

export function looksOf(run: RunView, leaves: LeafView[]): Map<string, Look> {
  const looks = new Map<string, Look>();
  const last = run.steps.length - 1;
  for (const step of run.steps) {
    let place = 0;
    for (const leaf of ranked(leaves, step.position)) {
      const counts = isAlive(leaf) && leaf.is_passed;
      if (counts) place += 1;
      const limit = step.position === last ? 0 : (step.top ?? 0);
      looks.set(leaf.id, {
        thumb: leaf.thumb_url,
        elo: leaf.votes > 0 ? leaf.elo : null,
        isRejected: !isAlive(leaf),
        isPassed: leaf.is_passed,
        isChosen: counts && (step.position === last ? place === 1 : place <= limit),
        rank: counts && step.position === last ? place : null,
        failures: leaf.failures,
      });
    }
  }
  return looks;
}

export const votesIn = (count: number) => `${count} ${count === 1 ? "vote" : "votes"}`;

/** A candidate of the tree, for those who hear it. */
export function spoken(leaf: LeafView, step: string, look: Look | undefined): string {
  const words = [step, `Elo ${Math.round(leaf.elo)}`, votesIn(leaf.votes), `${leaf.children} ${leaf.children === 1 ? "child" : "children"}`];
  if (look?.isRejected) words.push("rejected");
  if (look?.isChosen) words.push("goes on");
  return words.join(", ");
}

/** What a run is about, in a sentence. */
export function standing(run: RunView): string {
  const gate = closedGate(run);
  switch (run.status) {
    case "pending": return "It begins in a moment.";
    case "running": return run.in_flight === 1 ? "One picture is being made." : `${run.in_flight} pictures are being made.`;
    case "waiting_for_approval": return gate ? `It waits for you at the gate behind “${gate.name}”.` : "It waits for you.";
    case "paused": return pausedText(run.status_reason ?? "by_user");
    case "completed": return "Finished.";
    case "failed": return run.status_reason ?? "It failed.";
    case "stopped": return "Stopped. What was made stays.";
  }
}

// As the server writes it: the effect, a colon, and the reason in words.
const UNAVAILABLE = /^effect_unavailable:[^:]*: /;

function pausedText(reason: string): string {
  const unavailable = reason.replace(UNAVAILABLE, "");
  if (unavailable !== reason) return `Paused: ${unavailable} It goes on by itself once that is put right.`;
  return PAUSED[reason] ?? `Paused: ${reason} Resume it once that is put right.`;
}

// As the server calls it.
const NO_TOKENS = "tokens";

export const isOutOfTokens = (run: RunView) => run.status === "paused" && run.status_reason === NO_TOKENS;

const PAUSED: Record<string, string> = {
  by_user: "Paused. Nothing new is begun until you resume it.",
  tenant_suspended: "Paused: your tenant was suspended. Resume it once the suspension has ended.",
  budget_tokens: "Paused: its tokens are spent. Raise the budget and it goes on.",
  budget_jobs: "Paused: it has begun as many jobs as it may. Raise the budget and it goes on.",
  budget_hours: "Paused: its time is over. Give it more and it goes on.",
  [NO_TOKENS]: "Paused: the wallet does not hold enough tokens for the next job. It does not go on by itself: resume it when there are more.",
};

export function closedGate(run: RunView) {
  return run.steps.slice(0, -1).find((step) => step.top === null && step.alive > 0) ?? null;
}

export const madeOf = (run: RunView) => run.steps.reduce((sum, step) => sum + step.made, 0);

/** How many pictures it will have made when all goes well: with the gates as they stand, else as the run was started. */
export function expected(run: RunView): number {
  let [total, parents] = [0, 1];
  for (const step of run.steps) {
    const count = parents * step.variants;
    total += count;
    parents = Math.min(step.top ?? run.top, step.position === 0 ? step.variants : count);
  }
  return total;
}
