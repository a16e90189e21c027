import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Thumbs } from "./thumbs";

const PICTURE = { width: 96, height: 96, close: () => undefined };

describe("the pictures of a tree", () => {
  let answer: () => Promise<Response>;
  let thumbs: Thumbs;
  const asked = vi.fn(() => answer());
  const there = () => Promise.resolve(new Response("a picture"));
  const away = () => Promise.reject(new TypeError("Failed to fetch"));
  const saying = (status: number) => () => Promise.resolve(new Response("", { status }));
  const want = () => thumbs.want(["/thumb"], () => []);
  const pass = (seconds: number) => vi.advanceTimersByTimeAsync(seconds * 1000);

  beforeEach(() => {
    vi.useFakeTimers();
    vi.stubGlobal("fetch", asked.mockClear());
    vi.stubGlobal("createImageBitmap", vi.fn(() => Promise.resolve(PICTURE)));
    thumbs = new Thumbs(() => undefined);
  });
  afterEach(() => {
    thumbs.close();
    vi.useRealTimers();
    vi.unstubAllGlobals();
  });

  it("is asked for until it is there, more and more seldom", async () => {
    answer = away;
    want();
    await pass(60);
    expect(asked).toHaveBeenCalledTimes(6); // after 0, 1, 3, 7, 15 and 31 seconds
    answer = saying(503);
    await pass(60);
    expect(thumbs.count).toBe(0);
    answer = there;
    await pass(61);
    expect(thumbs.count).toBe(1);
  });

  it("comes at once when the server is back", async () => {
    answer = away;
    want();
    await pass(60);
    answer = there;
    thumbs.again();
    await pass(0);
    expect(thumbs.count).toBe(1);
  });

  it("is not asked for again where it is gone, is none, or is under way", async () => {
    answer = saying(404);
    want();
    await pass(60);
    want();
    thumbs.again();
    await pass(60);
    expect(asked).toHaveBeenCalledTimes(1);
    answer = there;
    vi.stubGlobal("createImageBitmap", vi.fn(() => Promise.reject(new Error("no picture"))));
    for (let times = 0; times < 2; times += 1) thumbs.want(["/no-picture"], () => []);
    await pass(60);
    expect(asked).toHaveBeenCalledTimes(2);
  });
});
