import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { CandidateView } from "@/client";
import { Ballot, HELD_MS, type Cast, type Pair } from "./ballot";

const candidate = (id: string) => ({ id }) as CandidateView;
const pairs: Pair[] = ["ab", "cd", "ef", "gh"].map((two) => [candidate(two[0]!), candidate(two[1]!)]);

function a_ballot() {
  const sent: Cast[] = [];
  const preloaded: string[] = [];
  let asked = 0;
  const ballot = new Ballot({
    next: () => Promise.resolve(pairs[asked++] ?? null),
    send: (cast) => { sent.push(cast); return Promise.resolve(); },
    preload: (pair) => preloaded.push(pair[0].id + pair[1].id),
  });
  return { ballot, sent, preloaded };
}
const settle = () => vi.advanceTimersByTimeAsync(1);

describe("voting", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it("has the next pair ready while this one is looked at", async () => {
    const { ballot, preloaded } = a_ballot();
    await ballot.begin();
    await settle();
    expect(ballot.read().pair).toBe(pairs[0]);
    expect(preloaded).toEqual(["cd"]);
    ballot.vote(0);
    await settle();
    expect(ballot.read().pair).toBe(pairs[1]);
  });

  it("sends a vote with the next one, or after a moment, and each once", async () => {
    const { ballot, sent } = a_ballot();
    await ballot.begin();
    await settle();
    ballot.vote(1);
    await settle();
    expect(sent).toEqual([]);
    ballot.vote(0);
    await settle();
    expect(sent.map((cast) => cast.winner.id)).toEqual(["b"]);
    await vi.advanceTimersByTimeAsync(HELD_MS);
    expect(sent.map((cast) => cast.winner.id)).toEqual(["b", "c"]);
    expect(new Set(sent.map((cast) => cast.key)).size).toBe(2);
    expect(ballot.read().sent).toBe(2);
  });

  it("takes the last vote back, and shows its pair again", async () => {
    const { ballot, sent } = a_ballot();
    await ballot.begin();
    await settle();
    ballot.vote(0);
    await settle();
    ballot.undo();
    expect(ballot.read().pair).toBe(pairs[0]);
    ballot.vote(1);
    await settle();
    expect(ballot.read().pair).toBe(pairs[1]);
    ballot.close();
    await settle();
    expect(sent.map((cast) => cast.winner.id)).toEqual(["b"]);
  });
});
