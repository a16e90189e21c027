import { describe, expect, it } from "vitest";
import { fit, isInSight, kept, toWorld, zoomAt } from "./camera";
import { CARD, layOut, lineOf, neighbour, type Leaf } from "./layout";

function leaf(id: string, position: number, parent: string | null = null, elo = 1000): Leaf {
  return { id, position, parent_id: parent, elo, created_at: "2026-01-01T00:00:00Z", children: 0 };
}

const TREE = [
  leaf("a", 0, null, 1000), leaf("b", 0, null, 1040), leaf("c", 0, null, 980),
  leaf("b1", 1, "b"), leaf("b2", 1, "b"), leaf("a1", 1, "a"),
];

/** Eight variants, the best three go on: as far as a step. */
function postcards(upTo: number): Leaf[] {
  const step = (position: number) => (position === 0 ? [null] : [0, 1, 2].map((index) => `${position - 1} ${index}`))
    .flatMap((parent, family) => Array.from({ length: 8 }, (_, index) => leaf(`${position} ${8 * family + index}`, position, parent)));
  return Array.from({ length: upTo + 1 }, (_, position) => step(position)).flat();
}

describe("where candidates stand", () => {
  it("has no two cards in one place, a thousand of them", () => {
    const many = Array.from({ length: 100 }, (_, index) => leaf(`r${index}`, 0));
    const more = Array.from({ length: 900 }, (_, index) => leaf(`k${index}`, 1 + (index % 2), index % 2 ? `k${index - 1}` : `r${index % 20}`));
    const { cards, bounds } = layOut([...many, ...more], [], 3);
    expect(cards.size).toBe(1000);
    expect(new Set([...cards.values()].map((card) => `${card.x} ${card.y}`)).size).toBe(1000);
    for (const card of cards.values()) {
      expect(card.x).toBeGreaterThanOrEqual(bounds.x);
      expect(card.y + CARD).toBeLessThanOrEqual(bounds.y + bounds.height);
    }
  });

  it("has one column for each step, in which the families stand one below the other", () => {
    const { families, bands } = layOut(postcards(1), [], 3);
    expect(bands.length).toBe(2);
    expect(families.length).toBe(4);
    for (const family of families) expect(family.x).toBe(bands[family.position]?.x);
    const [, one, two, three] = families;
    expect(two?.y).toBeGreaterThanOrEqual((one?.y ?? 0) + (one?.height ?? 0));
    expect(three?.y).toBeGreaterThanOrEqual((two?.y ?? 0) + (two?.height ?? 0));
  });

  it("stays where it is when the next step begins", () => {
    for (const upTo of [0, 1]) {
      const [before, after] = [layOut(postcards(upTo), [], 3), layOut(postcards(upTo + 1), [], 3)];
      for (const [id, card] of before.cards) expect(after.cards.get(id)).toEqual(card);
    }
  });

  it("keeps about the shape of a screen, five children of each of twenty in ten steps", () => {
    const parents = (position: number) => (position === 0 ? [null] : Array.from({ length: 20 }, (_, index) => `${position - 1} ${index}`));
    const many = Array.from({ length: 10 }, (_, position) => position)
      .flatMap((position) => parents(position).flatMap((parent, family) =>
        Array.from({ length: parent === null ? 100 : 5 }, (_, index) => leaf(`${position} ${5 * family + index}`, position, parent))));
    const { cards, families, bands, bounds } = layOut(many, [], 10);
    expect(cards.size).toBe(1000);
    for (const family of families) expect(family.x).toBe(bands[family.position]?.x);
    expect(bounds.width / bounds.height).toBeGreaterThan(0.7);
    expect(bounds.width / bounds.height).toBeLessThan(2.8);
  });

  it("shows the best first, and families in the order of their parents", () => {
    const { families } = layOut(TREE, [{ job_id: "j", position: 1, parent_id: "c", ordinal: 0 }], 2);
    expect(families.map((each) => each.ids)).toEqual([["b", "a", "c"], ["b1", "b2"], ["a1"], ["j"]]);
  });

  it("leads by arrow keys to parents, children and siblings", () => {
    const layout = layOut(TREE, [], 2);
    expect(neighbour(layout, "b1", "ArrowLeft")).toBe("b");
    expect(neighbour(layout, "b", "ArrowRight")).toBe("b1");
    expect(neighbour(layout, "b2", "ArrowDown")).toBe("a1");
    expect(neighbour(layout, "a1", "ArrowUp")).toBe("b2");
    expect(neighbour(layout, "b", "ArrowUp")).toBeNull();
  });

  it("knows where one came from and what came of it", () => {
    expect([...lineOf(TREE, "b")].sort()).toEqual(["b", "b1", "b2"]);
    expect([...lineOf(TREE, "a1")].sort()).toEqual(["a", "a1"]);
  });
});

describe("how it is seen", () => {
  const [bounds, size] = [{ x: 0, y: 0, width: 4000, height: 2000 }, { width: 800, height: 600 }];

  it("fits everything in sight", () => {
    const camera = fit(bounds, size);
    expect(isInSight(camera, { x: 0, y: 0, width: 1, height: 1 }, size)).toBe(true);
    expect(isInSight(camera, { x: 3999, y: 1999, width: 1, height: 1 }, size)).toBe(true);
  });

  it("leaves room below for the hint and the buttons", () => {
    for (const each of [bounds, { x: 0, y: 0, width: 300, height: 5000 }]) {
      const camera = fit(each, size);
      expect(camera.y + each.height * camera.scale).toBeLessThanOrEqual(size.height - 48);
    }
  });

  it("keeps what is under the pointer under it", () => {
    const camera = fit(bounds, size);
    const before = toWorld(camera, { x: 300, y: 200 });
    const after = toWorld(zoomAt(camera, 1.7, { x: 300, y: 200 }, 0.01), { x: 300, y: 200 });
    expect(after.x).toBeCloseTo(before.x);
    expect(after.y).toBeCloseTo(before.y);
  });

  it("is never lost out of sight", () => {
    const camera = kept({ x: 99_999, y: -99_999, scale: 0.5 }, bounds, size);
    expect(isInSight(camera, bounds, size)).toBe(true);
  });
});
