import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { FleetFault } from "@/app/errors";
import type { CandidateView } from "@/client";
import { Ballot, HELD_MS, tally, type Cast, type Pair } from "./ballot";

const candidate = (id: string) => ({ id }) as CandidateView;
const pairs: Pair[] = ["ab", "cd", "ef", "gh"].map((two) => [candidate(two[0]!), candidate(two[1]!)]);

function a_ballot() {
  const sent: Cast[] = [];
  const tried: Cast[] = [];
  const preloaded: string[] = [];
  const wire = { problem: null as Error | null };
  let asked = 0;
  const ballot = new Ballot({
    next: () => Promise.resolve(pairs[asked++] ?? null),
    send: (cast) => {
      tried.push(cast);
      if (wire.problem !== null) return Promise.reject(wire.problem);
      sent.push(cast);
      return Promise.resolve();
    },
    preload: (pair) => preloaded.push(pair[0].id + pair[1].id),
  });
  return { ballot, sent, tried, preloaded, wire };
}

/** Its pairs arrive when the test says so, in the order in which they were asked for. */
function a_slow_ballot() {
  const asked: { take: (pair: Pair | null) => void; fail: (problem: Error) => void }[] = [];
  const ballot = new Ballot({
    next: () => new Promise((take, fail) => void asked.push({ take, fail })),
    send: () => Promise.resolve(),
    preload: () => undefined,
  });
  const arrive = async (pair: Pair | undefined) => {
    asked.shift()!.take(pair ?? null);
    await settle();
  };
  const refuse = async () => {
    asked.shift()!.fail(new TypeError("Failed to fetch"));
    await settle();
  };
  return { ballot, arrive, refuse };
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

  it("shows the old pair after an undo, even while the next one is still on its way", async () => {
    const { ballot, arrive } = a_slow_ballot();
    void ballot.begin();
    await arrive(pairs[0]);
    ballot.vote(0);
    expect(ballot.read()).toMatchObject({ isLoading: true });
    ballot.undo();
    await arrive(pairs[1]);
    expect(ballot.read()).toMatchObject({ pair: pairs[0], isLoading: false, held: null });
    ballot.vote(1);
    await settle();
    expect(ballot.read()).toMatchObject({ pair: pairs[1], isLoading: false });
  });

  it("lets nobody vote twice on a pair because the next one could not be had", async () => {
    const { ballot, arrive, refuse } = a_slow_ballot();
    void ballot.begin();
    await arrive(pairs[0]);
    ballot.vote(0);
    await refuse();
    await refuse();
    expect(ballot.read()).toMatchObject({ pair: null, isLoading: false });
    expect(ballot.read().problem).not.toBeNull();
    ballot.again();
    await arrive(pairs[1]);
    expect(ballot.read()).toMatchObject({ pair: pairs[1], problem: null });
  });

  it("counts a vote that can be taken back in both, and never more of one's own than in all", async () => {
    const { ballot } = a_ballot();
    const counted = (known: number) => tally(ballot.read(), { before: 2, known });
    await ballot.begin();
    expect(counted(2)).toEqual({ mine: 0, inAll: 2 });
    ballot.vote(0);
    expect(counted(2)).toEqual({ mine: 1, inAll: 3 });
    await vi.advanceTimersByTimeAsync(HELD_MS);
    expect(counted(2)).toEqual({ mine: 1, inAll: 3 }); // sent; the server has not told us yet
    expect(counted(3)).toEqual({ mine: 1, inAll: 3 });
    expect(counted(7)).toEqual({ mine: 1, inAll: 7 }); // others vote, too
  });
});

describe("a vote that does not arrive", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it("is sent again when somebody says so, by the same key", async () => {
    const { ballot, tried, sent, wire } = a_ballot();
    await ballot.begin();
    await settle();
    wire.problem = new TypeError("Failed to fetch");
    ballot.vote(0);
    await vi.advanceTimersByTimeAsync(HELD_MS);
    expect(ballot.read()).toMatchObject({ sent: 0, unsent: 1, problem: null, pair: pairs[1] });
    expect(ballot.read().sendProblem).toBe(wire.problem);
    wire.problem = null;
    ballot.again();
    await settle();
    expect(ballot.read()).toMatchObject({ sent: 1, unsent: 0, sendProblem: null, pair: pairs[1] });
    expect(tried).toHaveLength(2);
    expect(tried[0]!.key).toBe(sent[0]!.key);
  });

  it("is sent with the next one, in their order", async () => {
    const { ballot, sent, wire } = a_ballot();
    await ballot.begin();
    await settle();
    wire.problem = new TypeError("Failed to fetch");
    for (const side of [0, 1, 0] as const) {
      ballot.vote(side);
      await settle();
    }
    expect(ballot.read()).toMatchObject({ sent: 0, unsent: 2 });
    wire.problem = null;
    await vi.advanceTimersByTimeAsync(HELD_MS);
    expect(sent.map((cast) => cast.winner.id)).toEqual(["a", "d", "e"]);
    expect(ballot.read()).toMatchObject({ sent: 3, unsent: 0, sendProblem: null });
  });

  it("is not sent for ever when the server will not have it", async () => {
    const { ballot, sent, wire } = a_ballot();
    await ballot.begin();
    await settle();
    wire.problem = new FleetFault({ code: "invalid_input", message: "It was rejected.", details: {} });
    ballot.vote(0);
    await vi.advanceTimersByTimeAsync(HELD_MS);
    expect(ballot.read()).toMatchObject({ unsent: 0, sendProblem: wire.problem });
    wire.problem = null;
    ballot.vote(0);
    ballot.close();
    await settle();
    expect(sent.map((cast) => cast.winner.id)).toEqual(["c"]);
  });
});
