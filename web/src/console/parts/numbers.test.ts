import { describe, expect, it } from "vitest";
import { ordinalText } from "./numbers";

describe("places in an order", () => {
  it("are written as people write them", () => {
    expect([1, 2, 3, 4, 11, 12, 13, 21, 102, 1003].map(ordinalText)).toEqual(["1st", "2nd", "3rd", "4th", "11th", "12th", "13th", "21st", "102nd", "1,003rd"]);
  });
});
