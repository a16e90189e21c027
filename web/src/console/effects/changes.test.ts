import { describe, expect, it } from "vitest";
import { changesOf, draftOf } from "./changes";

const EFFECT = { name: "Paint", description: "", workflow: "demo-paint", credits_cost: 3, overrides: { steps: 20, upscale: false }, waits_for_worker: false };

describe("what was changed of an effect", () => {
  it.each([
    ["nothing", {}, {}],
    ["only the price", { cost: 4 }, { credits_cost: 4 }],
    ["the price, as it was typed", { cost: "3" }, {}],
    ["the name and back", { name: "Paint" }, {}],
    ["the same fixed values in another order", { fixed: { upscale: false, steps: 20 } }, {}],
    ["a fixed value", { fixed: { steps: 30, upscale: false } }, { overrides: { steps: 30, upscale: false } }],
    ["one fixed value for another", { fixed: { steps: 20, seed: 1 } }, { overrides: { steps: 20, seed: 1 } }],
    ["no fixed value any more", { fixed: {} }, { overrides: {} }],
    ["that it waits for a worker", { waits: true }, { waits_for_worker: true }],
    ["its description", { description: "A sea." }, { description: "A sea." }],
  ])("%s", (_, typed, changes) => {
    expect(changesOf(EFFECT, { ...draftOf(EFFECT), ...typed })).toEqual(changes);
  });
});
