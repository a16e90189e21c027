import { expect, it } from "vitest";
import type { LeafView, RunView } from "@/client";
import { isOutOfTokens, spoken, standing, votesIn } from "./looks";

const paused = (reason: string | null) => ({ status: "paused", status_reason: reason, steps: [] }) as unknown as RunView;

it("says why a run is paused, and what makes it go on", () => {
  expect(standing(paused("by_user"))).toMatch("until you resume it");
  expect(standing(paused("budget_tokens"))).toMatch("Raise the budget and it goes on");
  expect(standing(paused("tenant_suspended"))).toMatch("once the suspension has ended");
  expect(standing(paused("tokens"))).toMatch("does not go on by itself");
  expect(standing(paused("There is no effect 'paint'."))).toBe("Paused: There is no effect 'paint'. Resume it once that is put right.");
  expect(standing(paused("effect_unavailable:paint: The effect 'paint' cannot be used now: no worker that can run it is connected.")))
    .toBe("Paused: The effect 'paint' cannot be used now: no worker that can run it is connected. It goes on by itself once that is put right.");
});

it("lacks tokens only where the wallet does, not where its budget is spent", () => {
  expect([paused("tokens"), paused("budget_tokens"), paused(null)].map(isOutOfTokens)).toEqual([true, false, false]);
});

it("counts one vote and one child as one", () => {
  const leaf = (votes: number, children: number) => ({ elo: 1016, votes, children }) as LeafView;
  expect(spoken(leaf(1, 1), "Sketch", undefined)).toBe("Sketch, Elo 1016, 1 vote, 1 child");
  expect(spoken(leaf(0, 8), "Sketch", undefined)).toBe("Sketch, Elo 1016, 0 votes, 8 children");
  expect([0, 1, 2].map(votesIn)).toEqual(["0 votes", "1 vote", "2 votes"]);
});
