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

describe("where candidates stand", () => {
  it("has no two cards in one place, a thousand of them", () => {
    const many = Array.from({ length: 100 }, (_, index) => leaf(`r${index}`, 0));
    const more = Array.from({ length: 900 }, (_, index) => leaf(`k${index}`, 1 + (index % 2), index % 2 ? `k${index - 1}` : `r${index % 20}`));
    const { cards, bounds } = layOut([...many, ...more], []);
    expect(cards.size).toBe(1000);
    expect(new Set([...cards.values()].map((card) => `${card.x} ${card.y}`)).size).toBe(1000);
    for (const card of cards.values()) {
      expect(card.x).toBeGreaterThanOrEqual(bounds.x);
      expect(card.y + CARD).toBeLessThanOrEqual(bounds.y + bounds.height);
    }
  });

  it("shows the best first, and families in the order of their parents", () => {
    const { families } = layOut(TREE, [{ job_id: "j", position: 1, parent_id: "c", ordinal: 0 }]);
    expect(families.map((each) => each.ids)).toEqual([["b", "a", "c"], ["b1", "b2"], ["a1"], ["j"]]);
  });

  it("leads by arrow keys to parents, children and siblings", () => {
    const layout = layOut(TREE, []);
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
