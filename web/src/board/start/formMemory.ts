/** What somebody filled in for a run, kept for as long as the tab lives or until it is started: a reload loses nothing. */
import { keep, recall } from "@/app/tabMemory";
import type { PipelineView } from "@/client";
import { firstFilled, type Filled } from "./filled";

const key = (pipeline: PipelineView) => `run-${pipeline.slug}`;

export function rememberForm(pipeline: PipelineView, filled: Filled): void {
  keep(key(pipeline), filled);
}

export function forgetForm(pipeline: PipelineView): void {
  keep(key(pipeline), null);
}

export function recallForm(pipeline: PipelineView): Filled {
  const kept = recall(key(pipeline));
  return { ...firstFilled(pipeline), ...(typeof kept === "object" ? kept : null) };
}
