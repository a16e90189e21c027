import { describe, expect, it } from "vitest";
import type { PropertyView } from "@/client";
import { bodiesOf, draftProblems, draftsOf, lostOf, slugOf } from "./drafts";

const property = (name: string, more: Partial<PropertyView> = {}): PropertyView => ({
  name, type: "integer", label: "", description: "", default: null, required: false, minimum: null, maximum: null, step: null,
  choices: null, multiline: false, placeholder: null, node: "1", input_name: name, is_primary_input: false, ...more,
});
const graph = { "1": { class_type: "Paint", inputs: { steps: 12, width: 768, mood: "{{mood}}" } } };

describe("the drafts of a new version", () => {
  const before = [property("pace", { input_name: "steps", label: "Pace", default: 20, maximum: 50 })];

  it("keep what was confirmed, under the name that effects know", () => {
    const [kept] = draftsOf([property("steps", { default: 12 })], graph, before);
    expect(kept).toMatchObject({ name: "pace", label: "Pace", default: 20, maximum: 50, open: true });
  });

  it("leave closed what users could not set before", () => {
    const drafts = draftsOf([property("steps"), property("width")], graph, before);
    expect(drafts.map((each) => each.open)).toEqual([true, false]);
    expect(bodiesOf(drafts).map((each) => each.name)).toEqual(["pace"]);
  });

  it("take the proposal where a place holds something else now", () => {
    const [changed] = draftsOf([property("steps", { type: "number" })], graph, before);
    expect(changed).toMatchObject({ name: "steps", type: "number", open: true });
  });

  it("keep what nobody proposes, where the graph still has its place, and name what is lost", () => {
    const wider = property("mood", { type: "text", node: null, input_name: null, placeholder: "mood" });
    const gone = property("seed", { node: "9" });
    const drafts = draftsOf([property("steps")], graph, [...before, wider, gone]);
    expect(drafts.map((each) => each.name)).toEqual(["pace", "mood"]);
    expect(lostOf(drafts, [...before, wider, gone]).map((each) => each.name)).toEqual(["seed"]);
  });
});

describe("drafts of a first version", () => {
  it("are all open", () => {
    expect(draftsOf([property("steps"), property("width")], graph).every((each) => each.open)).toBe(true);
  });

  it("must not have one name twice, nor two uploads, nor limits the wrong way round", () => {
    const open = { open: true };
    expect(draftProblems([{ ...property("a"), ...open }, { ...property("a"), ...open }])).toEqual(["Two properties are called a."]);
    expect(draftProblems([{ ...property("a", { minimum: 2, maximum: 1 }), ...open }])).toHaveLength(1);
    expect(draftProblems(["a", "b"].map((name) => ({ ...property(name, { is_primary_input: true }), ...open })))).toHaveLength(1);
  });

  it("get a slug from any name", () => expect(slugOf("  Café — Nächte!  ")).toBe("cafe-nachte"));
});
