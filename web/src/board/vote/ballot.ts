/** A row of votes by one person: which pair is on the table, which comes next, and the last vote, which can be taken back.

A vote is sent when the next one is cast, or after a moment: until then it is only here. So a slip of the thumb costs nothing,
and what was sent stays sent: votes are kept for ever. One that did not arrive is sent again, by the same key: with the next vote, or
when somebody says so. */
import { faultOf } from "@/app/errors";
import type { CandidateView } from "@/client";

export type Pair = [CandidateView, CandidateView];
export type Cast = { pair: Pair; winner: CandidateView; loser: CandidateView; key: string };

export const HELD_MS = 4_000;
// The server has decided: sent again, such a vote would be refused again.
const REFUSALS = ["not_found", "invalid_input", "idempotency_key_reused", "forbidden"];

export type Wire = {
  next: (beside: string[]) => Promise<Pair | null>;
  send: (cast: Cast) => Promise<void>;
  preload: (pair: Pair) => void;
};
/** `problem`: why there is no next pair; `sendProblem`: why a vote did not arrive. */
export type State = { pair: Pair | null; isLoading: boolean; held: Cast | null; sent: number; unsent: number; problem: unknown; sendProblem: unknown };

/** How many votes somebody has cast here, and how many there are with them: the one that can be taken back counts in both.

`before`: those of the step when the page was opened; `known`: as the server last said, which may be without what was just sent. */
export function tally(state: Pick<State, "sent" | "held">, { before, known }: { before: number; known: number }): { mine: number; inAll: number } {
  const held = state.held ? 1 : 0;
  return { mine: state.sent + held, inAll: Math.max(known, before + state.sent) + held };
}

export class Ballot {
  private state: State = { pair: null, isLoading: true, held: null, sent: 0, unsent: 0, problem: null, sendProblem: null };
  private following: Promise<Pair | null> | null = null;
  /** The pair that is to be shown next; one that was asked for before is not, whenever it comes. */
  private coming: Promise<Pair | null> | null = null;
  private unsent: Cast[] = [];
  private timer: ReturnType<typeof setTimeout> | undefined;
  private count = 0;
  private readonly name = `web-${Date.now()}-${Math.random().toString(36).slice(2)}`;
  private readonly watchers = new Set<() => void>();

  constructor(private readonly wire: Wire) {}

  readonly watch = (changed: () => void): (() => void) => {
    this.watchers.add(changed);
    return () => this.watchers.delete(changed);
  };

  readonly read = (): State => this.state;

  async begin(): Promise<void> {
    await this.show(() => this.wire.next([]));
  }

  /** 0: the left one is better; 1: the right one. */
  vote(side: 0 | 1): void {
    const { pair, isLoading } = this.state;
    if (!pair || isLoading) return;
    void this.send(this.due());
    const cast = { pair, winner: pair[side], loser: pair[side === 0 ? 1 : 0], key: `${this.name}-${(this.count += 1)}` };
    this.move({ held: cast });
    this.timer = setTimeout(() => void this.send(this.due()), HELD_MS);
    void this.advance();
  }

  skip(): void {
    if (this.state.pair && !this.state.isLoading) void this.advance();
  }

  /** The last vote, if it has not been sent: its pair is on the table again. */
  undo(): void {
    const { held, pair, isLoading } = this.state;
    if (!held) return;
    clearTimeout(this.timer);
    // What is on its way already comes afterwards.
    if (isLoading) this.following = this.coming;
    else if (pair) this.following = Promise.resolve(pair);
    this.coming = null;
    this.move({ held: null, pair: held.pair, isLoading: false, problem: null });
  }

  /** For somebody who was told of a problem. */
  again(): void {
    void this.send(this.unsent.splice(0));
    if (this.state.problem !== null) void this.begin();
  }

  /** Whoever leaves has voted. All at once: of a page that closes nothing is sent later. */
  close(): void {
    this.coming = null;
    for (const cast of this.due()) void this.deliver(cast);
  }

  private async advance(): Promise<void> {
    const ready = this.following;
    this.following = null;
    await this.show(() => ready ?? this.wire.next(idsOf(this.state.pair)));
  }

  private async show(find: () => Promise<Pair | null>): Promise<void> {
    this.move({ isLoading: true, problem: null });
    const coming = (this.coming = find());
    try {
      const pair = await coming;
      if (this.coming !== coming) return;
      this.move({ pair, isLoading: false });
      if (pair) this.prepare(pair);
    } catch (problem) {
      // Nothing stays on the table: the pair there has been voted on.
      if (this.coming === coming) this.move({ pair: null, isLoading: false, problem });
    }
  }

  /** The next pair is fetched, pictures and all, while this one is looked at. */
  private prepare(pair: Pair): void {
    const following = this.wire.next(idsOf(pair)).catch(() => null);
    this.following = following.then((next) => {
      if (next) this.wire.preload(next);
      // The same two again are no next pair; asked for later, there may be another.
      return next && !isSame(next, pair) ? next : this.wire.next(idsOf(pair));
    });
    this.following.catch(() => undefined);
  }

  /** All that has to be sent now: what did not arrive before, and the last vote. */
  private due(): Cast[] {
    clearTimeout(this.timer);
    const { held } = this.state;
    if (held) this.move({ held: null });
    return [...this.unsent.splice(0), ...(held ? [held] : [])];
  }

  /** In their order, and not a hundred at a server that does not answer. */
  private async send(casts: Cast[]): Promise<void> {
    for (const [index, cast] of casts.entries()) {
      if (await this.deliver(cast)) continue;
      this.keep(casts.slice(index + 1));
      return;
    }
  }

  /** False: it has to be sent again. */
  private async deliver(cast: Cast): Promise<boolean> {
    try {
      await this.wire.send(cast);
      this.move({ sent: this.state.sent + 1, unsent: this.unsent.length, ...(this.unsent.length === 0 && { sendProblem: null }) });
      return true;
    } catch (problem) {
      this.move({ sendProblem: problem });
      const isRefused = REFUSALS.includes(faultOf(problem).code);
      this.keep(isRefused ? [] : [cast]);
      return isRefused;
    }
  }

  private keep(casts: Cast[]): void {
    this.unsent.push(...casts);
    this.move({ unsent: this.unsent.length });
  }

  private move(change: Partial<State>): void {
    this.state = { ...this.state, ...change };
    for (const each of this.watchers) each();
  }
}

const idsOf = (pair: Pair | null) => (pair ? pair.map((each) => each.id) : []);
const isSame = (one: Pair, other: Pair) => one.every((each) => other.some((same) => same.id === each.id));
