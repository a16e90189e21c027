import { describe, expect, it } from "vitest";
import type { OfferView, PipelineView } from "@/client";
import { bodyOf, firstFilled, problemsOf, type Filled } from "./filled";

const PIPELINE = {
  id: "p", slug: "p", version: 1, name: "P", variables: ["scene", "much"],
  steps: [{ position: 0, effect: "paint", variables: ["scene", "much"], properties: {} }],
} as unknown as PipelineView;
const EFFECTS = [{ slug: "paint", properties: [{ name: "much", type: "number", minimum: 0, maximum: 10 }] }] as unknown as OfferView[];
const filled = (given: Partial<Filled>): Filled => ({ ...firstFilled(PIPELINE), variables: { scene: "dunes", much: 7.5 }, ...given });
const problems = (given: Partial<Filled>) => problemsOf(PIPELINE, EFFECTS, filled(given));

describe("what was filled in for a run", () => {
  it("is sent as numbers, without what is not the pipeline's", () => {
    const body = bodyOf(PIPELINE, filled({ hours_max: 1.5, variables: { scene: "7", much: 7.5, gone: "x" } }), "key");
    expect(body).toMatchObject({ variants: 8, hours_max: 1.5, tokens_max: null, variables: { scene: "7", much: 7.5 } });
    expect(body.variables).not.toHaveProperty("gone");
    expect(body.approval).toEqual({ kind: "person" });
  });

  it("may be empty only where there is no limit", () => {
    expect(problems({})).toEqual({});
    expect(problems({ variants: null, jobs_max: null })).toEqual({ variants: "This is needed." });
    expect(problems({ name: " ", variables: { scene: "dunes" } })).toEqual({ name: "Give it a name.", "variables.much": "The pipeline needs this." });
  });

  it("is looked at before it is sent", () => {
    expect(problems({ variants: 5000, hours_max: "-", jobs_max: 0 })).toEqual({ variants: "At most 1000.", hours_max: "Enter a number.", jobs_max: "At least 1." });
    expect(problems({ variables: { scene: "dunes", much: 11 } })).toEqual({ "variables.much": "At most 10." });
    // Votes count only where votes open the gates.
    expect(problems({ after: null })).toEqual({});
    expect(problems({ after: null, approval: "votes" })).toEqual({ after: "This is needed." });
  });
});
