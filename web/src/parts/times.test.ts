import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { durationText, secondsText } from "./times";

describe("times that people read", () => {
  it.each([
    [0, "0 s"], [0.01, "under 0.1 s"], [0.345678, "0.3 s"], [4, "4 s"], [4.26, "4.3 s"], [12.345678, "12 s"], [90, "90 s"], [119.6, "2 min"],
    [300, "5 min"], [3_600, "60 min"], [7_200, "2 h"], [9_000, "2.5 h"], [86_400, "24 h"], [129_600, "1.5 days"], [2_592_000, "30 days"],
  ])("%s seconds are rounded", (seconds, text) => expect(secondsText(seconds)).toBe(text));

  it("say that an estimate is one", () => expect([0.4, 4.2, 600].map(durationText)).toEqual(["under a second", "about 4 s", "about 10 min"]));

  it("are said by no other place", () => {
    const root = join(import.meta.dirname, "..");
    const files = readdirSync(root, { recursive: true, encoding: "utf8" }).filter((name) => /\.tsx?$/.test(name) && !/\.test\.|^client|parts\/times/.test(name));
    expect(files.length).toBeGreaterThan(50);
    const byHand = files.filter((name) => /\} (s|ms|min|h)[`.,; <]/.test(readFileSync(join(root, name), "utf8")));
    expect(byHand).toEqual([]);
  });
});
