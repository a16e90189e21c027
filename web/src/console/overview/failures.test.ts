import { describe, expect, it } from "vitest";
import { failuresOf } from "./failures";

describe("failures of the fleet", () => {
  it("are not what a user did wrong", () => {
    const ends = { completed: [6, 2], failed: [1, 4], by_reason: { completed: 8, user_input: 3, infra: 2, requeued: 5 } };
    expect(failuresOf(ends)).toEqual({ done: 8, failed: 2, share: 0.2 });
  });

  it("are none where nothing ended", () => {
    expect(failuresOf({ completed: [0], failed: [0], by_reason: {} })).toEqual({ done: 0, failed: 0, share: 0 });
  });
});
