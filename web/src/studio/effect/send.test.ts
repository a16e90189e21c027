import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { UploadView } from "@/client";
import { faultOf } from "@/app/errors";
import { INTERRUPTED, sendFile, STOPPED, type Sending } from "./send";

type Answer = number | "broken" | "never";
let answers: Answer[] = [];
let asked: string[] = [];

/** As a store that answers what the test says, in turn, and then 200. */
class FakeRequest {
  status = 0;
  upload: { onprogress?: (event: { loaded: number }) => void } = {};
  onload?: () => void;
  onerror?: () => void;
  onabort?: () => void;
  onloadend?: () => void;
  private url = "";

  open(_: string, url: string) {
    this.url = url;
  }

  setRequestHeader() {}

  getResponseHeader() {
    return `etag of ${this.url}`;
  }

  send() {
    asked.push(this.url);
    const answer = answers.shift() ?? 200;
    if (answer === "never") return;
    queueMicrotask(() => {
      if (answer === "broken") this.onerror?.();
      else {
        this.status = answer;
        this.onload?.();
      }
      this.onloadend?.();
    });
  }

  abort() {
    this.onabort?.();
  }
}

const urls = (generation: number): UploadView => ({
  part_size: 4,
  requests: [1, 2, 3].map((part) => ({ method: "PUT", url: `/${part}?signed=${generation}`, headers: {}, expires_in_s: 900 })),
});
const file = new Blob(["abcdefghij"]);

function begun(): Sending {
  let generation = 1;
  return { upload: urls(1), signedAt: Date.now(), arrived: new Map(), renew: () => Promise.resolve(urls((generation += 1))) };
}

const send = (sending: Sending, signal = new AbortController().signal) => sendFile(file, sending, () => undefined, signal);
const codeOf = (sent: Promise<unknown>) => sent.then(() => "sent", (problem: unknown) => faultOf(problem).code);

describe("a file in parts", () => {
  beforeEach(() => {
    vi.useFakeTimers();
    vi.stubGlobal("XMLHttpRequest", FakeRequest);
    answers = [];
    asked = [];
  });
  afterEach(() => {
    vi.unstubAllGlobals();
    vi.useRealTimers();
  });

  it("goes on with fresh URLs where the first ones have expired", async () => {
    answers = [200, 403];
    expect(await send(begun())).toEqual([
      { number: 1, etag: "etag of /1?signed=1" }, { number: 2, etag: "etag of /2?signed=2" }, { number: 3, etag: "etag of /3?signed=2" },
    ]);
    expect(asked).toEqual(["/1?signed=1", "/2?signed=1", "/2?signed=2", "/3?signed=2"]);
  });

  it("takes fresh URLs before the first ones expire", async () => {
    const sending = begun();
    vi.setSystemTime(Date.now() + 500_000);
    expect(await send(sending)).toHaveLength(3);
    expect(asked).toEqual(["/1?signed=2", "/2?signed=2", "/3?signed=2"]);
  });

  it("is refused where a fresh URL is refused, too", async () => {
    answers = [403, 403];
    expect(await codeOf(send(begun()))).toBe("upload_expired");
    expect(asked).toHaveLength(2);
  });

  it("is not sent twice: another try goes on where the last one broke off", async () => {
    const sending = begun();
    answers = [200, "broken", "broken", "broken"];
    const first = codeOf(send(sending));
    await vi.runAllTimersAsync();
    expect(await first).toBe(INTERRUPTED);
    asked = [];
    expect(await send(sending)).toHaveLength(3);
    expect(asked).toEqual(["/2?signed=1", "/3?signed=1"]);
  });

  it.each([["while it is sent", "never"], ["in the pause before the next try", "broken"]] as const)("is stopped %s, and that is no fault of the network", async (_, answer) => {
    answers = [answer];
    const stop = new AbortController();
    const sent = codeOf(send(begun(), stop.signal));
    await vi.advanceTimersByTimeAsync(100);
    stop.abort();
    expect(await sent).toBe(STOPPED);
    await vi.runAllTimersAsync();
    expect(asked).toHaveLength(1);
  });
});
