import { describe, expect, it } from "vitest";
import type { TimelineView } from "@/client";
import { Blocks } from "./blocks";

type Row = [worker: number, start: number, end: number, outcome: number, id: string];

function told(rows: Row[], extra: Partial<TimelineView> = {}): TimelineView {
  const column = <K extends 0 | 1 | 2 | 3 | 4>(place: K) => rows.map((row) => row[place]);
  return {
    from_ms: 1_000_000, to_ms: 2_000_000, at_ms: 2_000_000, left_out: false, workflows: ["glow"], outcomes: ["completed", "infra"],
    workers: ["i-1", "i-2"].map((worker_id) => ({ worker_id, fleet: null, status: "approved" as const, max_concurrency: 1 })),
    blocks: {
      worker: column(0), workflow: rows.map(() => 0), start_ms: column(1), end_ms: column(2), outcome: column(3), dispatch_id: column(4), epoch: rows.map(() => 1),
    },
    ...extra,
  };
}

describe("blocks of the timeline", () => {
  it("puts each on the line of its worker, in the order of time", () => {
    const blocks = new Blocks();
    blocks.merge(told([[0, 500, 600, 0, "b"], [1, 50, -1, -1, "c"], [0, 0, 100, 1, "a"]]));
    expect(blocks.lanes.map((lane) => lane.blocks.map((index) => blocks.id[index]))).toEqual([["a", "b"], ["c"]]);
    expect(blocks.within(1_000_000, 1_000_080, 9).map((each) => [each.dispatchId, each.outcome])).toEqual([["c", null], ["a", "infra"]]);
  });
  it("does not open again what has ended, when an earlier word comes late", () => {
    const blocks = new Blocks();
    blocks.merge(told([[0, 0, 400, 0, "a"]]));
    blocks.merge(told([[0, 0, -1, -1, "a"]]));
    expect(blocks.end).toEqual([1_000_400]);
    expect(blocks.lanes[0]?.running.size).toBe(0);
  });
  it("closes what ran, once, and tells nothing twice", () => {
    const blocks = new Blocks();
    blocks.merge(told([[0, 0, -1, -1, "a"]]));
    blocks.merge(told([[0, 0, 400, 0, "a"]]));
    blocks.merge(told([[0, 0, 400, 0, "a"]]));
    expect(blocks.count).toBe(1);
    expect(blocks.describe(0)).toMatchObject({ worker: "i-1", workflow: "glow", outcome: "completed", endMs: 1_000_400 });
    expect(blocks.lanes[0]?.running.size).toBe(0);
  });
  it("finds one that began long before what is looked at", () => {
    const blocks = new Blocks();
    blocks.merge(told([[0, 0, 900, 0, "long"], [0, 910, 920, 0, "short"], [1, 0, -1, -1, "runs"]]));
    expect(blocks.within(1_000_800, 1_000_850, 9).map((each) => each.dispatchId).sort()).toEqual(["long", "runs"]);
  });
  it("stands overlapping leases below each other, and counts busy time once", () => {
    const blocks = new Blocks();
    blocks.merge(told([[0, 0, 100, 0, "a"], [0, 50, 150, 0, "b"], [0, 150, 200, 0, "c"]]));
    expect(blocks.slot).toEqual([0, 1, 0]);
    const lane = blocks.lanes[0];
    expect(lane && blocks.busyShare(lane, 1_000_000, 1_000_400)).toBeCloseTo(0.5);
  });
  it("learns a worker's new state from a change", () => {
    const blocks = new Blocks();
    blocks.merge(told([]));
    blocks.merge(told([], { workers: [{ worker_id: "i-2", fleet: null, status: "draining", max_concurrency: 1 }] }));
    expect(blocks.lanes.map((lane) => lane.status)).toEqual(["approved", "draining"]);
  });
});
