import { InfiniteQueryObserver, QueryObserver } from "@tanstack/react-query";
import { afterEach, describe, expect, it } from "vitest";
import { queries, readAgain } from "./queries";

afterEach(() => queries.clear());

describe("reading again", () => {
  it("does not take what was under way for what is new", async () => {
    let database = 1;
    let isSlow = true;
    const { promise: held, resolve: release } = Promise.withResolvers<void>();
    const queryFn = async () => {
      const found = database;
      if (isSlow) await held;
      return found;
    };
    const shown = new QueryObserver(queries, { queryKey: ["console", "x"], queryFn });
    const leave = shown.subscribe(() => undefined);
    // It was read before the change, and arrives after it was told.
    database = 2;
    const told = readAgain({ queryKey: ["console"] });
    isSlow = false;
    release();
    await told;
    expect(shown.getCurrentResult().data).toBe(2);
    leave();
  });

  it("keeps the page that somebody asked for", async () => {
    const pages = new InfiniteQueryObserver(queries, {
      queryKey: ["console", "pages"],
      queryFn: async ({ pageParam }) => Promise.resolve(pageParam),
      initialPageParam: 1,
      getNextPageParam: (last: number) => last + 1,
    });
    const leave = pages.subscribe(() => undefined);
    await readAgain({ queryKey: ["console"] });
    const more = pages.fetchNextPage();
    await Promise.all([more, readAgain({ queryKey: ["console"] })]);
    expect(pages.getCurrentResult().data?.pages).toEqual([1, 2]);
    leave();
  });

  it("lets what nobody looks at be read when somebody does", async () => {
    await queries.fetchQuery({ queryKey: ["console", "left"], queryFn: () => 1 });
    await readAgain({ queryKey: ["console"] });
    expect(queries.getQueryState(["console", "left"])?.isInvalidated).toBe(true);
  });
});
