import { describe, expect, it } from "vitest";
import type { RunStatus, RunView } from "@/client";
import type { RunTold } from "../told";
import { following, lacks, runsOf, type Runs } from "./lists";

const a_run = (id: string, status: RunStatus = "running") => ({ id, status, in_flight: 0, steps: [] }) as unknown as RunView;
const told = (run_id: string, status: RunStatus = "running") => ({ run_id, status, in_flight: 3, steps: [] }) as unknown as RunTold;
const list = (...pages: RunView[][]): Runs => ({ pages: pages.map((runs) => ({ runs, next_cursor: null })), pageParams: pages.map(() => null) });
const names = (runs: Runs) => runsOf(runs).map((run) => run.id);

describe("lists of runs", () => {
  it("follow what is told of a run, on whichever page it is", () => {
    const after = following(list([a_run("a")], [a_run("b")]), null, told("b", "paused"));
    expect(runsOf(after).map((run) => [run.id, run.status, run.in_flight])).toEqual([["a", "running", 0], ["b", "paused", 3]]);
  });

  it("let go of a run that has left their state, and of no other", () => {
    const before = list([a_run("a"), a_run("b")], [a_run("c")]);
    expect(names(following(before, "running", told("b", "completed")))).toEqual(["a", "c"]);
    expect(names(following(before, "running", told("b")))).toEqual(["a", "b", "c"]);
    expect(following(before, "running", told("x"))).toBe(before);
  });

  it("lack a run that belongs to them and is not there", () => {
    const before = list([a_run("a")]);
    expect(lacks(before, null, told("x"))).toBe(true);
    expect(lacks(before, "running", told("x"))).toBe(true);
    expect(lacks(before, "paused", told("x"))).toBe(false);
    expect(lacks(before, "running", told("a"))).toBe(false);
  });
});
