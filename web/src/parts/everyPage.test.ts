import { expect, it } from "vitest";
import { everyPage } from "./everyPage";

const PAGES: Record<string, { names: string[]; next_cursor: string | null }> = {
  first: { names: ["a", "b"], next_cursor: "second" },
  second: { names: ["c"], next_cursor: "third" },
  third: { names: ["d"], next_cursor: null },
};

it("follows the cursor to the end, and asks for each page once", async () => {
  const asked: (string | undefined)[] = [];
  const read = (cursor: string | undefined) => {
    asked.push(cursor);
    return Promise.resolve({ data: PAGES[cursor ?? "first"] ?? { names: [], next_cursor: null } });
  };
  expect(await everyPage(read, (page) => page.names)).toEqual(["a", "b", "c", "d"]);
  expect(asked).toEqual([undefined, "second", "third"]);
});
