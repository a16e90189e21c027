import { describe, expect, it } from "vitest";
import { entered, rangeProblem, type Entered, type Range } from "./entered";

describe("what somebody typed for a number", () => {
  it.each<[string | number, Entered]>([
    ["", null],
    [7.5, 7.5],
    ["7.", 7],
    ["7.0", 7],
    ["0.05", 0.05],
    ["04", 4],
    ["-", "-"],
    ["-0.5", -0.5],
    ["156680208700286", 156680208700286],
    ["9007199254740991", 9007199254740991],
    ["9007199254740993", "9007199254740993"],
    ["18446744073709551615", "18446744073709551615"],
  ])("%j is %j", (typed, value) => {
    expect(entered(typed)).toBe(value);
  });

  it.each<[Entered, Range, string | null]>([
    [null, { least: 1 }, null],
    ["-", {}, "Enter a number."],
    [1.5, { isWhole: true }, "Enter a whole number."],
    [0, { least: 1 }, "At least 1."],
    [0.5, { least: 0.1, most: 8760 }, null],
    [1001, { most: 1000, isWhole: true }, "At most 1000."],
    ["99999999999999999999", { most: 1000, isWhole: true }, "At most 1000."],
    ["9007199254740993", { isWhole: true }, "Too long: beyond 9007199254740991 a browser does not count exactly."],
    // 2 ** 64 - 1, as it arrives here.
    [2 ** 60, { most: 2 ** 64, isWhole: true }, "Too long: beyond 9007199254740991 a browser does not count exactly."],
    [1e18, { most: 1e20 }, null],
  ])("%j within %j: %j", (value, range, problem) => {
    expect(rangeProblem(value, range)).toBe(problem);
  });
});
