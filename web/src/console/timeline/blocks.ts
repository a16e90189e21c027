/** The blocks of the timeline in columns, by worker, and what the stream adds to them. */
import type { TimelineView } from "@/client";

export type Lane = { worker: string; fleet: string | null; status: string; slots: number; blocks: number[]; longestMs: number; running: Set<number> };
export type Found = {
  index: number; worker: string; workflow: string; outcome: string | null; startMs: number; endMs: number | null; dispatchId: string;
};

const SLOTS_MAX = 4;
const RUNS = -1;
const UNKNOWN = "an unknown workflow";

export class Blocks {
  readonly lanes: Lane[] = [];
  readonly workflows: string[] = [];
  readonly outcomes: string[] = [];
  readonly start: number[] = [];
  /** Infinity while it runs. */
  readonly end: number[] = [];
  readonly workflow: number[] = [];
  readonly outcome: number[] = [];
  readonly slot: number[] = [];
  readonly lane: number[] = [];
  readonly id: string[] = [];
  private readonly byKey = new Map<string, number>();
  private readonly laneOf = new Map<string, number>();
  private readonly taken: number[][] = [];

  get count(): number {
    return this.start.length;
  }

  /** The whole, or what changed: both have one form. Says whether something is to be drawn anew. */
  merge(told: TimelineView): boolean {
    const lanes = told.workers.map((each) => this.knowLane(each));
    const workflows = told.workflows.map((each) => known(this.workflows, each));
    const outcomes = told.outcomes.map((each) => known(this.outcomes, each));
    const { blocks } = told;
    const order = blocks.start_ms.map((_, index) => index).sort((a, b) => at(blocks.start_ms, a) - at(blocks.start_ms, b));
    for (const index of order) {
      const end = at(blocks.end_ms, index);
      const outcome = at(blocks.outcome, index);
      const workflow = at(blocks.workflow, index);
      this.put({
        key: `${blocks.dispatch_id[index]}:${blocks.epoch[index]}`,
        id: blocks.dispatch_id[index] ?? "",
        lane: at(lanes, at(blocks.worker, index)),
        workflow: workflow < 0 ? known(this.workflows, UNKNOWN) : at(workflows, workflow),
        start: told.from_ms + at(blocks.start_ms, index),
        end: end < 0 ? Infinity : told.from_ms + end,
        outcome: outcome < 0 ? RUNS : at(outcomes, outcome),
      });
    }
    return order.length > 0 || lanes.length > 0;
  }

  private put(block: { key: string; id: string; lane: number; workflow: number; start: number; end: number; outcome: number }): void {
    const lane = this.lanes[block.lane];
    if (!lane) return;
    const before = this.byKey.get(block.key);
    if (before !== undefined) {
      // What was said earlier may be heard later; nothing that has ended runs again.
      if (block.end === Infinity && at(this.end, before) !== Infinity) return;
      this.end[before] = block.end;
      this.outcome[before] = block.outcome;
      this.measure(lane, before);
      return;
    }
    const index = this.start.length;
    this.byKey.set(block.key, index);
    this.start.push(block.start);
    this.end.push(block.end);
    this.workflow.push(block.workflow);
    this.outcome.push(block.outcome);
    this.lane.push(block.lane);
    this.id.push(block.id);
    this.slot.push(this.freeSlot(block.lane, block.start, index));
    this.measure(lane, index);
    insertSorted(lane.blocks, index, this.start);
  }

  private measure(lane: Lane, index: number): void {
    const long = at(this.end, index) - at(this.start, index);
    if (Number.isFinite(long)) {
      lane.running.delete(index);
      lane.longestMs = Math.max(lane.longestMs, long);
    } else lane.running.add(index);
  }

  /** Leases that overlap stand below each other: the second is what waits on the worker, or runs beside the first. */
  private freeSlot(lane: number, start: number, index: number): number {
    const taken = (this.taken[lane] ??= []);
    let slot = taken.findIndex((holder) => at(this.end, holder) <= start);
    if (slot < 0) slot = Math.min(taken.length, SLOTS_MAX - 1);
    taken[slot] = index;
    const found = this.lanes[lane];
    if (found) found.slots = Math.max(found.slots, slot + 1);
    return slot;
  }

  private knowLane(worker: TimelineView["workers"][number]): number {
    let index = this.laneOf.get(worker.worker_id);
    if (index === undefined) {
      index = this.lanes.length;
      this.laneOf.set(worker.worker_id, index);
      this.lanes.push({ worker: worker.worker_id, fleet: worker.fleet, status: worker.status, slots: 1, blocks: [], longestMs: 0, running: new Set() });
    }
    const lane = this.lanes[index];
    if (lane) lane.status = worker.status;
    return index;
  }

  /** The first place in a lane whose block may reach into what is looked at. */
  firstFrom(lane: Lane, fromMs: number): number {
    let reach = fromMs - lane.longestMs;
    for (const index of lane.running) reach = Math.min(reach, at(this.start, index));
    let [low, high] = [0, lane.blocks.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (at(this.start, at(lane.blocks, middle)) < reach) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  describe(index: number): Found {
    const end = at(this.end, index);
    return {
      index,
      worker: this.lanes[at(this.lane, index)]?.worker ?? "",
      workflow: this.workflows[at(this.workflow, index)] ?? UNKNOWN,
      outcome: this.outcomes[at(this.outcome, index)] ?? null,
      startMs: at(this.start, index),
      endMs: Number.isFinite(end) ? end : null,
      dispatchId: this.id[index] ?? "",
    };
  }

  /** The latest blocks that touch this time, for the table. */
  within(fromMs: number, toMs: number, most: number): Found[] {
    const found: number[] = [];
    for (const lane of this.lanes) {
      for (let place = this.firstFrom(lane, fromMs); place < lane.blocks.length; place += 1) {
        const index = at(lane.blocks, place);
        if (at(this.start, index) > toMs) break;
        if (at(this.end, index) >= fromMs) found.push(index);
      }
    }
    found.sort((a, b) => at(this.start, b) - at(this.start, a));
    return found.slice(0, most).map((index) => this.describe(index));
  }

  /** How much of this time a worker had something to run. */
  busyShare(lane: Lane, fromMs: number, toMs: number): number {
    let [busy, until] = [0, fromMs];
    for (let place = this.firstFrom(lane, fromMs); place < lane.blocks.length; place += 1) {
      const index = at(lane.blocks, place);
      const [begin, end] = [Math.max(at(this.start, index), until), Math.min(at(this.end, index), toMs)];
      if (begin >= toMs) break;
      if (end > begin) {
        busy += end - begin;
        until = end;
      }
    }
    return toMs > fromMs ? busy / (toMs - fromMs) : 0;
  }
}

const at = (column: number[], index: number): number => column[index] ?? 0;

function known(words: string[], word: string): number {
  const index = words.indexOf(word);
  return index >= 0 ? index : words.push(word) - 1;
}

/** Nearly always the last. */
function insertSorted(order: number[], index: number, start: number[]): void {
  let place = order.length;
  while (place > 0 && at(start, at(order, place - 1)) > at(start, index)) place -= 1;
  order.splice(place, 0, index);
}
