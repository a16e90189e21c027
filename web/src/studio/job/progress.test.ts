import { describe, expect, it } from "vitest";
import { barOf, placeText, stateText } from "./progress";

const running = { status: "processing" } as const;

describe("the bar", () => {
  it("shows real steps where a worker has told them", () => {
    const bar = barOf(running, { fraction: 0.384, step: 7, steps: 24, node: "ImageScale", waits: false }, { ran: 9, expectedS: 3 });
    expect(bar).toEqual({ percent: 38, real: true, label: "38%", detail: "ImageScale · step 7 of 24" });
  });
  it("stands still while a worker that has taken it makes another one", () => {
    const bar = barOf(running, { fraction: 0, step: null, steps: null, node: null, waits: true }, { ran: 9, expectedS: 10 });
    expect(bar).toEqual({ percent: 0, real: true, label: "", detail: "A worker has taken it, and begins as soon as it is free." });
  });
  it("guesses where only a beginning was told", () => {
    const bar = barOf(running, { fraction: 0, step: null, steps: null, node: null, waits: false }, { ran: 5, expectedS: 10 });
    expect(bar).toMatchObject({ percent: 46, real: false, label: "about 5 s left" });
  });
  it("guesses by past times, says so, and never reaches the end by itself", () => {
    expect(barOf(running, null, { ran: 5, expectedS: 10 })).toMatchObject({ percent: 46, real: false, label: "about 5 s left" });
    expect(barOf(running, null, { ran: 500, expectedS: 10 })).toMatchObject({ percent: 92, real: false, label: "longer than usual" });
    expect(barOf(running, null, { ran: null, expectedS: null })).toMatchObject({ real: false, label: "Starting" });
  });
});

describe("how it stands", () => {
  it.each([
    ["queued", false, "Waiting for its turn"],
    ["processing", false, "Making it"],
    ["processing", true, "Stopping…"],
    ["completed", true, "Done"],
    ["failed", false, "Failed"],
    ["cancelled", true, "Cancelled"],
  ] as const)("is said of what is %s", (status, cancel_requested, text) => {
    expect(stateText({ status, cancel_requested })).toBe(text);
  });
});

describe("the place in the queue", () => {
  it.each([
    [null, "In the queue."],
    [{ position: 1, position_is_at_least: false, estimated_start_s: 4, waits_because: null, deadline_at: null }, "Next in the queue, starts in about 4 s."],
    [{ position: 30, position_is_at_least: true, estimated_start_s: 120, waits_because: null, deadline_at: null }, "Place 30 or later in the queue, starts in about 2 min."],
    [{ position: 1, position_is_at_least: false, estimated_start_s: null, waits_because: null, deadline_at: null }, "Next in the queue. No worker can run it right now; it waits until one can."],
    [{ position: 1, position_is_at_least: false, estimated_start_s: null, waits_because: "No worker is connected.", deadline_at: null }, "Next in the queue. No worker is connected."],
  ])("is said in words: %#", (queue, text) => {
    expect(placeText(queue)).toBe(text);
  });

  it("says until when it waits for a worker", () => {
    const queue = { position: 2, position_is_at_least: false, estimated_start_s: null, waits_because: "No worker is connected.", deadline_at: "2026-11-18T20:00:00Z" };
    expect(placeText(queue)).toMatch(/^Place 2 in the queue\. No worker is connected\. If none has begun by .*2026.*, it fails and its tokens come back\.$/);
  });
});
