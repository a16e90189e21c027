/** What the board knows of runs, and how it hears that something changed. */
import { queryOptions, useQuery } from "@tanstack/react-query";
import { live, useLive, usePolling } from "@/app/live";
import { queries } from "@/app/queries";
import {
  getCandidate, getOffers, getMaking, getPipelines, getRun, getRunJobs, getRuns, getTree,
  type BudView, type JobStatus, type LeafView, type RunView,
} from "@/client";
import { madeOf } from "./looks";

export type Tree = { leaves: LeafView[]; buds: BudView[]; cursor: string | null };
/** What the stream tells of a run. */
export type RunTold = Pick<RunView, "status" | "status_reason" | "in_flight" | "jobs_started" | "jobs_max" | "tokens_spent" | "tokens_max" | "ended_at"> & {
  run_id: string;
  steps: { position: number; made: number; alive: number; in_flight: number; failures: number; votes: number; top: number | null }[];
};

const PAGE = 2_000;
const REFRESH_MS = 400;

/** What the stream told last of each run, and when: an answer that was on its way meanwhile is older. */
const told = new Map<string, { at: number; run: RunTold }>();

async function upToDate(ask: () => Promise<RunView>): Promise<RunView> {
  const began = performance.now();
  const run = await ask();
  const newer = told.get(run.id);
  return newer && newer.at > began ? merged(run, newer.run) : run;
}

/** A change by hand: its answer is the run, unless the stream has told more since. */
export async function changeRun(change: () => Promise<RunView>): Promise<RunView> {
  const run = await upToDate(change);
  queries.setQueryData(runQuery(run.id).queryKey, run);
  return run;
}

export const runsQuery = (status: RunView["status"] | null) => queryOptions({
  queryKey: ["runs", status],
  queryFn: async () => (await getRuns({ query: { limit: 50, status }, throwOnError: true })).data,
});

export const runQuery = (runId: string) => queryOptions({
  queryKey: ["run", runId],
  queryFn: () => upToDate(async () => (await getRun({ path: { run_id: runId }, throwOnError: true })).data),
});

export const treeQuery = (runId: string) => queryOptions({
  queryKey: ["run", runId, "tree"],
  queryFn: () => readTree(runId, { leaves: [], buds: [], cursor: null }),
  staleTime: Infinity,
});

export const pipelinesQuery = queryOptions({
  queryKey: ["pipelines"],
  queryFn: async () => (await getPipelines({ query: { limit: 100 }, throwOnError: true })).data.pipelines,
});

export const effectsQuery = queryOptions({
  queryKey: ["effects", "all"],
  queryFn: async () => (await getOffers({ query: { limit: 100 }, throwOnError: true })).data.effects,
});

export const candidateQuery = (id: string) => queryOptions({
  queryKey: ["candidate", id],
  queryFn: async () => (await getCandidate({ path: { candidate_id: id }, throwOnError: true })).data,
  // Its URL is signed for a quarter of an hour.
  staleTime: 5 * 60_000,
});

export const makingQuery = (id: string) => queryOptions({
  queryKey: ["candidate", id, "making"],
  queryFn: async () => (await getMaking({ path: { candidate_id: id }, throwOnError: true })).data,
  staleTime: Infinity,
});

export const failuresQuery = (runId: string) => queryOptions({
  queryKey: ["run", runId, "failures"],
  queryFn: async () => (await getRunJobs({ path: { run_id: runId }, query: { state: "failed", limit: 100 }, throwOnError: true })).data.jobs,
});

/** What is known, and all that was made since. */
async function readTree(runId: string, known: Tree): Promise<Tree> {
  const leaves = [...known.leaves];
  let [cursor, buds, isWhole] = [known.cursor, known.buds, false];
  while (!isWhole) {
    const { data } = await getTree({ path: { run_id: runId }, query: { limit: PAGE, cursor }, throwOnError: true });
    leaves.push(...data.candidates);
    cursor = data.last_cursor ?? cursor;
    buds = data.under_way;
    isWhole = data.next_cursor === null;
  }
  return { leaves, buds, cursor };
}

/** Asked again and again while a run works; it answers once in a while. */
class Feed {
  private isBusy = false;
  private wanted: "none" | "more" | "whole" = "none";

  constructor(private readonly runId: string) {}

  ask(what: "more" | "whole"): void {
    if (this.wanted !== "whole") this.wanted = what;
    if (!this.isBusy) void this.work();
  }

  private async work(): Promise<void> {
    this.isBusy = true;
    const { queryKey } = treeQuery(this.runId);
    while (this.wanted !== "none") {
      const what = this.wanted;
      this.wanted = "none";
      try {
        const known = queries.getQueryData(queryKey);
        const run = queries.getQueryData(runQuery(this.runId).queryKey);
        let tree = known && what === "more" ? await readTree(this.runId, known) : await readTree(this.runId, EMPTY);
        // Ids are made by several clocks: one may have come in below what was known.
        if (what === "more" && run && tree.leaves.length < madeOf(run)) tree = await readTree(this.runId, EMPTY);
        queries.setQueryData(queryKey, tree);
      } catch {
        // The stream tells again, and so does the notice that the connection is lost.
      }
      await new Promise((resume) => setTimeout(resume, REFRESH_MS));
    }
    this.isBusy = false;
  }
}

const EMPTY: Tree = { leaves: [], buds: [], cursor: null };
const feeds = new Map<string, Feed>();

function feedOf(runId: string): Feed {
  let feed = feeds.get(runId);
  if (!feed) feeds.set(runId, (feed = new Feed(runId)));
  return feed;
}

export function refreshTree(runId: string): void {
  feedOf(runId).ask("whole");
}

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

export function useRun(runId: string) {
  const polling = usePolling();
  const run = useQuery({ ...runQuery(runId), refetchInterval: polling });
  const tree = useQuery({ ...treeQuery(runId), refetchInterval: polling });
  useLive<RunTold>("run", (now) => {
    if (now.run_id !== runId) return;
    told.set(runId, { at: performance.now(), run: now });
    const before = queries.getQueryData(runQuery(runId).queryKey);
    if (!before) return;
    queries.setQueryData(runQuery(runId).queryKey, merged(before, now));
    const change = changeOf(before, now);
    if (change === "whole") void queries.invalidateQueries({ queryKey: runQuery(runId).queryKey, exact: true });
    if (change !== "none") feedOf(runId).ask(change);
    if (now.steps.some((step, index) => step.failures !== before.steps[index]?.failures)) {
      void queries.invalidateQueries({ queryKey: failuresQuery(runId).queryKey });
    }
  });
  // A job that a worker has taken is no more one that waits.
  useLive<{ job_id: string; status: JobStatus }>("status", ({ job_id, status }) => {
    queries.setQueryData(treeQuery(runId).queryKey, (tree) => {
      if (!tree?.buds.some((bud) => bud.job_id === job_id && bud.status !== status)) return tree;
      if (status !== "processing" && status !== "queued") return tree;
      return { ...tree, buds: tree.buds.map((bud) => (bud.job_id === job_id ? { ...bud, status } : bud)) };
    });
  });
  return { run, tree };
}

/** Lists of runs follow the stream too. */
export function useLiveRuns(): void {
  useLive<RunTold>("run", (now) => {
    let isKnown = false;
    queries.setQueriesData<{ runs: RunView[]; next_cursor: string | null }>({ queryKey: ["runs"] }, (page) => {
      if (!page?.runs.some((run) => run.id === now.run_id)) return page;
      isKnown = true;
      return { ...page, runs: page.runs.map((run) => (run.id === now.run_id ? merged(run, now) : run)) };
    });
    if (!isKnown && live.connection() === "live") void queries.invalidateQueries({ queryKey: ["runs"] });
  });
}
