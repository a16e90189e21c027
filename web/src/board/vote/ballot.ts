/** A row of votes by one person: which pair is on the table, which comes next, and the last vote, which can be taken back.

A vote is sent when the next one is cast, or after a moment: until then it is only here. So a slip of the thumb costs nothing,
and what was sent stays sent: votes are kept for ever. */
import type { CandidateView } from "@/client";

export type Pair = [CandidateView, CandidateView];
export type Cast = { pair: Pair; winner: CandidateView; loser: CandidateView; key: string };

export const HELD_MS = 4_000;

export type Wire = {
  next: (beside: string[]) => Promise<Pair | null>;
  send: (cast: Cast) => Promise<void>;
  preload: (pair: Pair) => void;
};
export type State = { pair: Pair | null; isLoading: boolean; held: Cast | null; sent: number; problem: unknown };

export class Ballot {
  private state: State = { pair: null, isLoading: true, held: null, sent: 0, problem: null };
  private following: Promise<Pair | null> | null = null;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private count = 0;
  private isClosed = false;
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
    void this.send();
    const cast = { pair, winner: pair[side], loser: pair[side === 0 ? 1 : 0], key: `${this.name}-${(this.count += 1)}` };
    this.move({ held: cast });
    this.timer = setTimeout(() => void this.send(), HELD_MS);
    void this.advance();
  }

  skip(): void {
    if (this.state.pair && !this.state.isLoading) void this.advance();
  }

  /** The last vote, if it has not been sent: its pair is on the table again. */
  undo(): void {
    const { held, pair } = this.state;
    if (!held) return;
    clearTimeout(this.timer);
    if (pair) this.following = Promise.resolve(pair);
    this.move({ held: null, pair: held.pair, isLoading: false, problem: null });
  }

  /** Whoever leaves has voted. */
  close(): void {
    this.isClosed = true;
    void this.send();
  }

  reopen(): void {
    this.isClosed = false;
  }

  private async advance(): Promise<void> {
    const ready = this.following;
    this.following = null;
    await this.show(() => ready ?? this.wire.next(idsOf(this.state.pair)));
  }

  private async show(find: () => Promise<Pair | null>): Promise<void> {
    this.move({ isLoading: true, problem: null });
    try {
      const pair = await find();
      if (this.isClosed) return;
      this.move({ pair, isLoading: false });
      if (pair) this.prepare(pair);
    } catch (problem) {
      this.move({ isLoading: false, problem });
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

  private async send(): Promise<void> {
    clearTimeout(this.timer);
    const cast = this.state.held;
    if (!cast) return;
    this.move({ held: null });
    try {
      await this.wire.send(cast);
      this.move({ sent: this.state.sent + 1 });
    } catch (problem) {
      this.move({ problem });
    }
  }

  private move(change: Partial<State>): void {
    this.state = { ...this.state, ...change };
    for (const each of this.watchers) each();
  }
}

const idsOf = (pair: Pair | null) => (pair ? pair.map((each) => each.id) : []);
const isSame = (one: Pair, other: Pair) => one.every((each) => other.some((same) => same.id === each.id));
