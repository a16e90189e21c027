/** Where every candidate stands: a band for each step, and in it a block for each family of siblings. */

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
const FAMILY_GAP = 44;
const COLUMNS_MAX = 12;
const SHAPE = 1.35;

const byRank = (one: Leaf, other: Leaf) =>
  other.elo - one.elo || one.created_at.localeCompare(other.created_at) || one.id.localeCompare(other.id);

/** Steps from left to right, as far as anything is made; families in the order of their parents, the best first. */
export function layOut(leaves: Leaf[], buds: Bud[]): Layout {
  const steps = 1 + [...leaves, ...buds].reduce((furthest, each) => Math.max(furthest, each.position), 0);
  const cards = new Map<string, Card>();
  const families: Family[] = [];
  const bands: Rect[] = [];
  const blocks: Block[][] = [];
  let order = new Map<string, number>();
  for (let position = 0; position < steps; position += 1) {
    const groups = familiesOf(leaves, buds, position, order);
    blocks.push(groups.map((group) => blockOf(group, groups.length)));
    order = new Map(groups.flatMap((group) => group.leaves).map((leaf, index) => [leaf.id, index]));
  }
  const limit = heightOf(blocks);
  let x = 0;
  for (const [position, band] of blocks.entries()) {
    const { width, places } = packed(band, limit);
    band.forEach((block, index) => put(block, position, x + (places[index]?.x ?? 0), places[index]?.y ?? 0, cards, families));
    bands.push({ x, y: 0, width, height: bottomOf(families, position) });
    x += width + BAND_GAP;
  }
  const height = Math.max(CARD, ...bands.map((band) => band.height));
  center(families, cards, bands, height);
  return { cards, families, bands, bounds: { x: 0, y: 0, width: Math.max(CARD, x - BAND_GAP), height } };
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

/** A lone family may be wide; many are narrow, so that they stack. */
function columnsOf(size: number, families: number): number {
  const wide = families <= 2 ? Math.ceil(Math.sqrt(size * 0.9)) : Math.ceil(Math.sqrt(size));
  return Math.max(1, Math.min(COLUMNS_MAX, wide));
}

/** A family, before it has a place. */
type Block = { parent: string | null; ids: string[]; budsFrom: number; columns: number; width: number; height: number };

function blockOf(group: Group, families: number): Block {
  const ids = [...group.leaves.map((leaf) => leaf.id), ...group.buds.map((bud) => bud.job_id)];
  const columns = columnsOf(ids.length, families);
  const width = Math.min(columns, ids.length) * (CARD + GAP) - GAP;
  const height = Math.ceil(ids.length / columns) * (CARD + GAP) - GAP;
  return { parent: group.parent, ids, budsFrom: group.leaves.length, columns, width, height };
}

/** One below the other, up to a height; then beside each other. */
function packed(blocks: Block[], limit: number): { width: number; places: { x: number; y: number }[] } {
  let [x, y, widest] = [0, 0, 0];
  const places = blocks.map((block) => {
    if (y > 0 && y + block.height > limit) [x, y, widest] = [x + widest + FAMILY_GAP, 0, 0];
    const place = { x, y };
    y += block.height + FAMILY_GAP;
    widest = Math.max(widest, block.width);
    return place;
  });
  return { width: Math.max(CARD, x + widest), places };
}

/** So high that the whole has about the shape of a screen. */
function heightOf(bands: Block[][]): number {
  const least = Math.max(CARD, ...bands.flat().map((block) => block.height));
  const most = Math.max(least, ...bands.map((band) => band.reduce((sum, block) => sum + block.height + FAMILY_GAP, 0)));
  let limit = least;
  while (limit < most) {
    const width = bands.reduce((sum, band) => sum + packed(band, limit).width + BAND_GAP, 0);
    if (width <= SHAPE * limit) break;
    limit *= 1.1;
  }
  return limit;
}

function put(block: Block, position: number, x: number, y: number, cards: Map<string, Card>, families: Family[]) {
  const { parent, ids, columns, width, height } = block;
  ids.forEach((id, index) => {
    const [column, row] = [index % columns, Math.floor(index / columns)];
    const isBud = index >= block.budsFrom;
    cards.set(id, { id, isBud, x: x + column * (CARD + GAP), y: y + row * (CARD + GAP), width: CARD, height: CARD });
  });
  families.push({ parent, position, ids, x, y, width, height });
}

function bottomOf(families: Family[], position: number): number {
  return Math.max(CARD, ...families.filter((each) => each.position === position).map((each) => each.y + each.height));
}

function center(families: Family[], cards: Map<string, Card>, bands: Rect[], height: number) {
  for (const family of families) {
    const band = bands[family.position];
    const down = band ? (height - band.height) / 2 : 0;
    family.y += down;
    for (const id of family.ids) {
      const card = cards.get(id);
      if (card) card.y += down;
    }
  }
  for (const band of bands) {
    band.y = (height - band.height) / 2;
  }
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
