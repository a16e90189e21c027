/** Where every candidate stands: a band for each step, and in it, one below the other, a block for each family of siblings. */

export type Leaf = {
  id: string;
  position: number;
  parent_id: string | null;
  elo: number;
  created_at: string;
  children: number;
};
export type Bud = { job_id: string; position: number; parent_id: string | null; ordinal: number };

export type Rect = { x: number; y: number; width: number; height: number };
/** `id`: of a candidate, or of the job that is to become one. */
export type Card = Rect & { id: string; isBud: boolean };
/** The siblings that one parent has; `parent` is none for those of the first step. */
export type Family = Rect & { parent: string | null; position: number; ids: string[] };
export type Layout = { cards: Map<string, Card>; families: Family[]; bands: Rect[]; bounds: Rect };

export const CARD = 100;
export const GAP = 10;
const BAND_GAP = 130;
export const FAMILY_GAP = 44;
// What a screen has in width for its height.
const SHAPE = 1.35;
// More families than this in one stack would be too small to be seen: then some stand side by side, still within their step.
const STACK_MAX = 60;

const byRank = (one: Leaf, other: Leaf) =>
  other.elo - one.elo || one.created_at.localeCompare(other.created_at) || one.id.localeCompare(other.id);

/** Steps from left to right, as far as anything is made; families in the order of their parents, the best first.

A step has the same place and shape whatever comes after it: only what is in it counts, and how many steps the run has in all. */
export function layOut(leaves: Leaf[], buds: Bud[], steps: number): Layout {
  const reached = 1 + [...leaves, ...buds].reduce((furthest, each) => Math.max(furthest, each.position), 0);
  const cards = new Map<string, Card>();
  const families: Family[] = [];
  const bands: Rect[] = [];
  const steepness = Math.max(1, steps / SHAPE);
  let order = new Map<string, number>();
  let x = 0;
  for (let position = 0; position < reached; position += 1) {
    const groups = familiesOf(leaves, buds, position, order);
    const { blocks, width, height } = stacked(groups, steepness);
    for (const block of blocks) put(block, position, x, cards, families);
    bands.push({ x, y: 0, width, height });
    x += width + BAND_GAP;
    order = new Map(groups.flatMap((group) => group.leaves).map((leaf, index) => [leaf.id, index]));
  }
  const height = Math.max(...bands.map((band) => band.height));
  return { cards, families, bands, bounds: { x: 0, y: 0, width: x - BAND_GAP, height } };
}

type Group = { parent: string | null; leaves: Leaf[]; buds: Bud[] };

function familiesOf(leaves: Leaf[], buds: Bud[], position: number, order: Map<string, number>): Group[] {
  const groups = new Map<string | null, Group>();
  const group = (parent: string | null) => {
    let found = groups.get(parent);
    if (!found) groups.set(parent, (found = { parent, leaves: [], buds: [] }));
    return found;
  };
  for (const leaf of leaves) if (leaf.position === position) group(leaf.parent_id).leaves.push(leaf);
  for (const bud of buds) if (bud.position === position) group(bud.parent_id).buds.push(bud);
  for (const each of groups.values()) {
    each.leaves.sort(byRank);
    each.buds.sort((one, other) => one.ordinal - other.ordinal);
  }
  const place = (each: Group) => (each.parent === null ? -1 : (order.get(each.parent) ?? Number.MAX_SAFE_INTEGER));
  return [...groups.values()].sort((one, other) => place(one) - place(other));
}

/** A family, and where it stands in its step. */
type Block = Rect & { parent: string | null; ids: string[]; budsFrom: number; columns: number };
type Stack = { blocks: Block[]; width: number; height: number };

/** One below the other; the fuller the step, the wider its families, so that it is not much steeper than it should be. */
function stacked(groups: Group[], steepness: number): Stack {
  const largest = Math.max(1, ...groups.map((group) => group.leaves.length + group.buds.length));
  const abreast = Math.ceil(groups.length / STACK_MAX);
  let columns = Math.ceil(Math.sqrt(largest * 0.9));
  let stack = inRows(groups, columns, abreast);
  while (columns < largest && stack.height > steepness * stack.width) stack = inRows(groups, (columns += 1), abreast);
  return stack;
}

function inRows(groups: Group[], columns: number, abreast: number): Stack {
  let [y, height, widest] = [0, CARD, CARD];
  const blocks = groups.map((group, index) => {
    if (index > 0 && index % abreast === 0) y = height + FAMILY_GAP;
    const x = (index % abreast) * (lengthOf(columns) + FAMILY_GAP);
    const block = blockOf(group, columns, x, y);
    height = Math.max(height, y + block.height);
    widest = Math.max(widest, x + block.width);
    return block;
  });
  return { blocks, width: widest, height };
}

function blockOf(group: Group, columns: number, x: number, y: number): Block {
  const ids = [...group.leaves.map((leaf) => leaf.id), ...group.buds.map((bud) => bud.job_id)];
  const [width, height] = [lengthOf(Math.min(columns, ids.length)), lengthOf(Math.ceil(ids.length / columns))];
  return { parent: group.parent, ids, budsFrom: group.leaves.length, columns, x, y, width, height };
}

/** Of so many cards in a line. */
const lengthOf = (cards: number) => cards * (CARD + GAP) - GAP;

function put(block: Block, position: number, left: number, cards: Map<string, Card>, families: Family[]) {
  const { parent, ids, columns, y, width, height } = block;
  const x = left + block.x;
  ids.forEach((id, index) => {
    const [column, row] = [index % columns, Math.floor(index / columns)];
    const isBud = index >= block.budsFrom;
    cards.set(id, { id, isBud, x: x + column * (CARD + GAP), y: y + row * (CARD + GAP), width: CARD, height: CARD });
  });
  families.push({ parent, position, ids, x, y, width, height });
}

/** Which way the arrow keys lead: up and down among siblings, left to the parent, right to the best child. */
export function neighbour(layout: Layout, id: string, key: string): string | null {
  const family = layout.families.find((each) => each.ids.includes(id));
  if (!family) return null;
  const index = family.ids.indexOf(id);
  if (key === "ArrowLeft") return family.parent;
  if (key === "ArrowRight") return layout.families.find((each) => each.parent === id)?.ids[0] ?? null;
  const sibling = family.ids[index + (key === "ArrowDown" ? 1 : -1)];
  if (sibling !== undefined) return sibling;
  const peers = layout.families.filter((each) => each.position === family.position);
  const next = peers[peers.indexOf(family) + (key === "ArrowDown" ? 1 : -1)];
  return (key === "ArrowDown" ? next?.ids[0] : next?.ids.at(-1)) ?? null;
}

/** Itself, what it came from, and what came of it. */
export function lineOf(leaves: Leaf[], id: string): Set<string> {
  const parents = new Map(leaves.map((leaf) => [leaf.id, leaf.parent_id]));
  const line = new Set<string>();
  for (let at: string | null | undefined = id; at; at = parents.get(at)) {
    if (line.has(at)) break;
    line.add(at);
  }
  const below = new Set([id]);
  for (const leaf of [...leaves].sort((one, other) => one.position - other.position)) {
    if (leaf.parent_id !== null && below.has(leaf.parent_id)) below.add(leaf.id);
  }
  return new Set([...line, ...below]);
}
