import { expect, test } from "vitest";
import type { DecisionView } from "@/client";
import { mostOf, stepsOf } from "./steps";
import { canResume, decisionText } from "./words";

const at = (seconds: number) => new Date(seconds * 1000).toISOString();
const decision = (seconds: number, ready: number, starting = 0): DecisionView => ({
  decided_at: at(seconds), desired: ready + starting, ready, starting, draining: 0, waiting: 0, reason: "steady", text: "steady", holds: [],
});

test("each decision holds until the next one, and the last until now", () => {
  const steps = stepsOf([decision(30, 2), decision(20, 0, 2)], 0, 40_000);
  expect(steps.map((each) => [each.from, each.until, each.ready, each.starting])).toEqual([[20_000, 30_000, 0, 2], [30_000, 40_000, 2, 0]]);
  expect(mostOf(steps)).toBe(2);
});

test("what held before the beginning reaches into it, and what is over is left out", () => {
  const steps = stepsOf([decision(5, 1), decision(10, 3), decision(30, 0)], 20_000, 40_000);
  expect(steps.map((each) => [each.from, each.until, each.ready])).toEqual([[20_000, 30_000, 3], [30_000, 40_000, 0]]);
  expect(stepsOf([], 0, 10)).toEqual([]);
  expect(mostOf([])).toBe(1);
});

test("a hold is told once, with its cause", () => {
  const hold = { hold: "maximum", text: "max_workers is 3", is_alerting: false } as const;
  expect(decisionText({ reason: "held", holds: [hold] })).toBe("The maximum is reached (max_workers is 3)");
  expect(decisionText({ reason: "backlog", holds: [hold] })).toBe("More work waits than would be served in time; The maximum is reached (max_workers is 3)");
  expect(decisionText({ reason: "a_new_one", holds: [] })).toBe("a new one");
  expect(canResume([hold])).toBe(false);
  expect(canResume([{ hold: "not_registering", text: "3 machines", is_alerting: true }])).toBe(true);
});
