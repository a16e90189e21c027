import { describe, expect, it } from "vitest";
import { changesOf, draftOf } from "./changes";

const EFFECT = { name: "Paint", description: "", workflow: "demo-paint", credits_cost: 3, overrides: { steps: 20, upscale: false }, fixed: ["steps"], waits_for_worker: false };

describe("what was changed of an effect", () => {
  it.each([
    ["nothing", {}, {}],
    ["only the price", { cost: 4 }, { credits_cost: 4 }],
    ["the price, as it was typed", { cost: "3" }, {}],
    ["the name and back", { name: "Paint" }, {}],
    ["the same values in another order", { overrides: { upscale: false, steps: 20 } }, {}],
    ["a value", { overrides: { steps: 30, upscale: false } }, { overrides: { steps: 30, upscale: false } }],
    ["one value for another", { overrides: { steps: 20, seed: 1 } }, { overrides: { steps: 20, seed: 1 } }],
    ["no value any more", { overrides: {}, fixed: [] }, { overrides: {}, fixed: [] }],
    ["that users may change a value", { fixed: [] }, { fixed: [] }],
    ["that it waits for a worker", { waits: true }, { waits_for_worker: true }],
    ["its description", { description: "A sea." }, { description: "A sea." }],
  ])("%s", (_, typed, changes) => {
    expect(changesOf(EFFECT, { ...draftOf(EFFECT), ...typed })).toEqual(changes);
  });
});
