/** What of an effect was changed: the audit log says what is sent, and should say no more than was done. */
import type { adminChangeEffect, EffectView } from "@/client";
import type { EffectDraft } from "./EffectForm";

type Changes = Parameters<typeof adminChangeEffect>[0]["body"];
type Effect = Pick<EffectView, "name" | "description" | "workflow" | "credits_cost" | "overrides" | "fixed" | "waits_for_worker">;

export const draftOf = (effect: Effect): EffectDraft => ({ name: effect.name, description: effect.description, workflow: effect.workflow, cost: effect.credits_cost, overrides: effect.overrides, fixed: effect.fixed, waits: effect.waits_for_worker });

export function changesOf(effect: Effect, draft: EffectDraft): Changes {
  const wanted: Effect = { name: draft.name, description: draft.description, workflow: draft.workflow ?? effect.workflow, credits_cost: Number(draft.cost), overrides: draft.overrides, fixed: [...draft.fixed].sort(), waits_for_worker: draft.waits };
  return Object.fromEntries(Object.entries(wanted).filter(([name, value]) => !isSame(value, effect[name as keyof Effect])));
}

/** In which order fixed values stand says nothing. */
function isSame(one: Effect[keyof Effect], other: Effect[keyof Effect]): boolean {
  if (typeof one !== "object" || typeof other !== "object") return one === other;
  const there = other as Record<string, unknown>;
  return Object.keys(one).length === Object.keys(other).length && Object.entries(one).every(([name, value]) => there[name] === value);
}
