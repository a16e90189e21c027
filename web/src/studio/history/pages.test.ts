import { describe, expect, it } from "vitest";
import { withFirst } from "./pages";

const job = (id: string, status = "queued") => ({ id, status });

describe("a history of several pages", () => {
  const pages = [{ jobs: [job("c"), job("b")], next: "b" }, { jobs: [job("a")], next: null }];

  it("gets what is new at its head, once, and keeps all that was there", () => {
    const once = withFirst(pages, [job("d"), job("c")]);
    expect(withFirst(once, [job("d"), job("c")])).toEqual(once);
    expect(once.map((page) => page.jobs.map((each) => each.id))).toEqual([["d", "c", "b"], ["a"]]);
    expect(once.map((page) => page.next)).toEqual(["b", null]);
  });

  it("learns what became of what it knows, on whichever page it stands", () => {
    const after = withFirst(pages, [job("c", "completed"), job("a", "failed")]);
    expect(after.flatMap((page) => page.jobs.map((each) => each.status))).toEqual(["completed", "queued", "failed"]);
  });
});
