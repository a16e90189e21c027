import { describe, expect, it } from "vitest";
import type { PipelineView } from "@/client";
import { folderOf, planOf } from "./plan";

const step = (position: number, effect: string, variants: number | null = null) => ({
  position, name: effect, slug: effect, effect, variables: [], needs_parent: position > 0, variants, properties: {},
});
const PIPELINE: PipelineView = {
  id: "p", slug: "p", version: 1, name: "P", description: "", variables: [], created_by: "u", created_at: "", archived_at: null,
  steps: [step(0, "paint"), step(1, "repaint"), step(2, "glow", 1)],
};

describe("what a run will make", () => {
  it("counts jobs and tokens step by step", () => {
    const prices = [{ slug: "paint", credits_cost: 2 }, { slug: "repaint", credits_cost: 3 }, { slug: "glow", credits_cost: 1 }];
    expect(planOf(PIPELINE, prices, 8, 3)).toEqual({ jobs: 8 + 3 * 8 + 3, tokens: 16 + 72 + 3 });
  });

  it("does not invent a price", () => {
    expect(planOf(PIPELINE, [], 1, 1).tokens).toBeNull();
  });

  it("names folders that every file system takes", () => {
    expect(folderOf("  Été / “Gym” shoot: 2 ")).toBe("ete-gym-shoot-2");
    expect(folderOf("雪")).toBe("run");
  });
});
