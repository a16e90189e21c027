import { describe, expect, it } from "vitest";
import { firstValues, problemsOf, RANDOM, sentValues, type Property } from "./properties";

const a = (given: Partial<Property>): Property => ({
  name: "x", type: "text", label: "X", description: "", default: null, required: false, minimum: null, maximum: null,
  step: null, choices: null, multiline: false, is_primary_input: false, ...given,
});

const TOO_LONG = "Too long: beyond 9007199254740991 a browser does not count exactly.";

describe("what an effect leaves open", () => {
  it("begins with defaults, and with nothing for files", () => {
    const properties = [a({ name: "words", default: "a lake" }), a({ name: "seed", type: "seed" }), a({ name: "on", type: "boolean" }), a({ name: "picture", type: "image" })];
    expect(firstValues(properties)).toEqual({ words: "a lake", seed: RANDOM, on: false });
  });
  it.each([
    [a({ required: true }), "", "This is needed."],
    [a({ required: false }), "", undefined],
    [a({ type: "integer", minimum: 4, maximum: 60 }), 3, "At least 4."],
    [a({ type: "integer", minimum: 4, maximum: 60 }), 61, "At most 60."],
    [a({ type: "integer" }), 1.5, "Enter a whole number."],
    [a({ type: "number" }), Number.NaN, "Enter a number."],
    [a({ type: "seed" }), RANDOM, undefined],
    [a({ type: "seed" }), -1, "At least 0."],
    [a({ type: "seed" }), 156680208700286, undefined],
    [a({ type: "seed" }), 2 ** 60, TOO_LONG],
    [a({ type: "seed" }), "18446744073709551615", TOO_LONG],
    // ComfyUI's own limit, as a browser reads it.
    [a({ type: "seed", maximum: 2 ** 64 }), "9007199254740993", TOO_LONG],
    [a({ type: "seed", default: 2 ** 60 }), 2 ** 60, undefined],
    [a({ type: "number" }), "-", "Enter a number."],
    [a({ type: "number", minimum: -1 }), -0.5, undefined],
    [a({ type: "integer", maximum: 60 }), "99999999999999999999", "At most 60."],
  ])("says what is wrong: %#", (property, value, problem) => {
    expect(problemsOf([property], { x: value }).x).toBe(problem);
  });
  it("sends nothing that was left empty, and no files", () => {
    const properties = [a({ name: "words" }), a({ name: "much", type: "number" }), a({ name: "picture", type: "image" })];
    expect(sentValues(properties, { words: "", much: 0, picture: "id" })).toEqual({ much: 0 });
  });
  it("sends numbers as numbers, and leaves to the server what no browser can tell", () => {
    const properties = [a({ name: "much", type: "number" }), a({ name: "seed", type: "seed" }), a({ name: "own", type: "seed", default: 2 ** 60 }), a({ name: "words" })];
    expect(sentValues(properties, { much: "7.0", seed: RANDOM, own: 2 ** 60, words: "04" })).toEqual({ much: 7, seed: RANDOM, words: "04" });
  });
});
