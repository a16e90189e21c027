/** What the stream tells of a run, and what follows from it. Pure. */
import type { RunView } from "@/client";

/** What the stream tells of a run. */
export type RunTold = Pick<RunView, "status" | "status_reason" | "in_flight" | "jobs_started" | "jobs_max" | "tokens_spent" | "tokens_max" | "ended_at"> & {
  run_id: string;
  steps: { position: number; made: number; alive: number; in_flight: number; failures: number; votes: number; top: number | null }[];
};

/** The counts as they were just told. */
export function merged(run: RunView, now: RunTold): RunView {
  const { steps, ...facts } = now;
  const counts = new Map(steps.map((step) => [step.position, step]));
  return { ...run, ...facts, steps: run.steps.map((step) => ({ ...step, ...counts.get(step.position) })) };
}

/** What has to be read again, of the tree. */
export function changeOf(before: RunView, now: RunTold): "none" | "more" | "whole" {
  let change: "none" | "more" | "whole" = "none";
  for (const step of now.steps) {
    const old = before.steps.find((each) => each.position === step.position);
    if (!old || old.votes !== step.votes || old.top !== step.top || old.made - old.alive !== step.made - step.alive) return "whole";
    if (old.made !== step.made || old.in_flight !== step.in_flight) change = "more";
  }
  return change;
}
