/** What the board knows of runs, and how it hears that something changed. */
import { infiniteQueryOptions, queryOptions, useQuery } from "@tanstack/react-query";
import { useEffect, useRef } from "react";
import { useLive, usePolling } from "@/app/live";
import { queries } from "@/app/queries";
import {
  getCandidate, getMaking, getPipelines, getRun, getRunJobs, getRuns, getTree,
  type BudView, type JobStatus, type LeafView, type RunPage, type RunView,
} from "@/client";
import { everyPage } from "@/parts/everyPage";
import { madeOf } from "./looks";
import { following, lacks, type Filter, type Runs } from "./runs/lists";
import { changeOf, merged, type RunTold } from "./told";

export type Tree = { leaves: LeafView[]; buds: BudView[]; cursor: string | null };

const PAGE = 2_000;
const RUNS_SHOWN = 50;
const REFRESH_MS = 400;

/** What the stream told last of each run, and when: an answer that was on its way meanwhile is older. */
const told = new Map<string, { at: number; run: RunTold }>();

const hear = (now: RunTold) => void told.set(now.run_id, { at: performance.now(), run: now });

function newest(run: RunView, askedAt: number): RunView {
  const newer = told.get(run.id);
  return newer && newer.at > askedAt ? merged(run, newer.run) : run;
}

async function upToDate(ask: () => Promise<RunView>): Promise<RunView> {
  const began = performance.now();
  return newest(await ask(), began);
}

async function readRuns(status: Filter, cursor: string | null): Promise<RunPage> {
  const began = performance.now();
  const { data } = await getRuns({ query: { limit: RUNS_SHOWN, status, cursor }, throwOnError: true });
  const runs = data.runs.map((run) => newest(run, began));
  return { ...data, runs: runs.filter((run) => status === null || run.status === status) };
}

/** A change by hand: its answer is the run, unless the stream has told more since. */
export async function changeRun(change: () => Promise<RunView>): Promise<RunView> {
  const run = await upToDate(change);
  queries.setQueryData(runQuery(run.id).queryKey, run);
  return run;
}

export const runsQuery = (status: Filter) => infiniteQueryOptions({
  queryKey: ["runs", status],
  queryFn: ({ pageParam }) => readRuns(status, pageParam),
  initialPageParam: null as string | null,
  getNextPageParam: (last) => last.next_cursor,
  // The stream was heard by nobody meanwhile.
  refetchOnMount: "always",
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
  queryFn: () => everyPage((cursor) => getPipelines({ query: { limit: 100, cursor }, throwOnError: true }), (page) => page.pipelines),
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
  queryFn: () => everyPage((cursor) => getRunJobs({ path: { run_id: runId }, query: { state: "failed", limit: 100, cursor }, throwOnError: true }), (page) => page.jobs),
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

export function useRun(runId: string) {
  const polling = usePolling();
  const run = useQuery({ ...runQuery(runId), refetchInterval: polling, refetchOnMount: "always" });
  const tree = useQuery({ ...treeQuery(runId), refetchInterval: polling });
  // Of what happened while another page was open nobody heard. By the feed, so that no older answer comes in after a newer one.
  useEffect(() => {
    if (queries.getQueryData(treeQuery(runId).queryKey)) refreshTree(runId);
  }, [runId]);
  useLive<RunTold>("run", (now) => {
    if (now.run_id !== runId) return;
    hear(now);
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

/** Lists of runs follow the stream too, those of other filters that are still known among them. */
export function useLiveRuns(): void {
  const heard = useRef(new Map<string, RunTold["status"]>());
  useLive<RunTold>("run", (now) => {
    hear(now);
    // A run that stands further down than anybody has looked is lacking too: it is asked for once, not at every event.
    const isNews = heard.current.get(now.run_id) !== now.status;
    heard.current.set(now.run_id, now.status);
    for (const [queryKey, list] of queries.getQueriesData<Runs>({ queryKey: ["runs"] })) {
      const filter = queryKey[1] as Filter;
      if (!list) continue;
      queries.setQueryData<Runs>(queryKey, following(list, filter, now));
      if (isNews && lacks(list, filter, now)) void queries.invalidateQueries({ queryKey, exact: true });
    }
  });
}
