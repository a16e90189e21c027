import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Live } from "./live";
import { queries } from "./queries";

class FakeStream extends EventTarget {
  static opened: FakeStream[] = [];
  onopen: (() => void) | null = null;
  onerror: (() => void) | null = null;
  isClosed = false;

  constructor(readonly url: string) {
    super();
    FakeStream.opened.push(this);
  }

  close() {
    this.isClosed = true;
  }

  say(event: string, data = "{}") {
    this.dispatchEvent(new MessageEvent(event, { data }));
  }
}

const last = () => FakeStream.opened.at(-1) as FakeStream;
const isUp = () => FakeStream.opened.filter((each) => !each.isClosed).length;

function look(state: DocumentVisibilityState) {
  vi.spyOn(document, "visibilityState", "get").mockReturnValue(state);
  document.dispatchEvent(new Event("visibilitychange"));
}

describe("the stream of a tab", () => {
  let live: Live;
  let readAgain: ReturnType<typeof vi.spyOn>;
  beforeEach(() => {
    vi.useFakeTimers();
    vi.stubGlobal("EventSource", FakeStream);
    readAgain = vi.spyOn(queries, "invalidateQueries").mockResolvedValue(undefined);
    FakeStream.opened = [];
    live = new Live();
    live.start("/api/events");
    last().onopen?.();
  });
  afterEach(() => {
    live.stop();
    vi.restoreAllMocks();
    vi.unstubAllGlobals();
    vi.useRealTimers();
  });

  it("is live for as long as it is heard of, however little", async () => {
    for (let pings = 0; pings < 8; pings += 1) {
      await vi.advanceTimersByTimeAsync(30_000);
      last().say("ping");
    }
    expect(live.connection()).toBe("live");
    expect(FakeStream.opened).toHaveLength(1);
    expect(readAgain).not.toHaveBeenCalled();
  });

  it("is opened anew after a silence, and everything is read again", async () => {
    await vi.advanceTimersByTimeAsync(39_000);
    expect(last().isClosed).toBe(false);
    await vi.advanceTimersByTimeAsync(3_000);
    expect(FakeStream.opened).toHaveLength(2);
    expect(FakeStream.opened[0]?.isClosed).toBe(true);
    expect(live.connection()).toBe("lost");
    last().onopen?.();
    expect(live.connection()).toBe("live");
    expect(readAgain).toHaveBeenCalledOnce();
  });

  it("rests in a tab that nobody looks at, and not in one that was left for a moment", async () => {
    look("hidden");
    await vi.advanceTimersByTimeAsync(30_000);
    last().say("ping");
    look("visible");
    await vi.advanceTimersByTimeAsync(35_000);
    last().say("ping");
    expect(FakeStream.opened).toHaveLength(1);
    expect(isUp()).toBe(1);

    look("hidden");
    await vi.advanceTimersByTimeAsync(30_000);
    last().say("ping");
    await vi.advanceTimersByTimeAsync(31_000);
    expect(isUp()).toBe(0);
    live.wantPreviews();
    await vi.advanceTimersByTimeAsync(600_000);
    expect(isUp()).toBe(0);
    expect(live.connection()).toBe("connecting");

    look("visible");
    expect(isUp()).toBe(1);
    last().onopen?.();
    expect(live.connection()).toBe("live");
    expect(readAgain).toHaveBeenCalledOnce();
  });
});
