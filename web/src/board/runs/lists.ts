/** Lists of runs, page by page, and what the stream changes in them. */
import type { InfiniteData } from "@tanstack/react-query";
import type { RunPage, RunView } from "@/client";
import { merged, type RunTold } from "../told";

export type Runs = InfiniteData<RunPage>;
/** Of which state; null: of all. */
export type Filter = RunView["status"] | null;

export const runsOf = (list: Runs) => list.pages.flatMap((page) => page.runs);

/** With the counts as they were just told, and without a run that has left the state. */
export function following(list: Runs, filter: Filter, now: RunTold): Runs {
  if (!holds(list, now.run_id)) return list;
  const follow = (run: RunView) => (run.id !== now.run_id ? [run] : belongs(filter, now) ? [merged(run, now)] : []);
  return { ...list, pages: list.pages.map((page) => ({ ...page, runs: page.runs.flatMap(follow) })) };
}

/** A run that should be in the list and is not: it is new, or it came into this state. */
export const lacks = (list: Runs, filter: Filter, now: RunTold) => belongs(filter, now) && !holds(list, now.run_id);

const belongs = (filter: Filter, now: RunTold) => filter === null || filter === now.status;
const holds = (list: Runs, runId: string) => list.pages.some((page) => page.runs.some((run) => run.id === runId));
