/** One stream of events a tab. Where it is not up, pages poll every two seconds instead. */
import { useEffect, useEffectEvent, useRef, useSyncExternalStore } from "react";
import { queries } from "./queries";
import { checkSession } from "./session";

export type Connection = "off" | "connecting" | "live" | "lost";
export const POLL_MS = 2_000;
const AGAIN_MS_MIN = 500;
const AGAIN_MS_MAX = 8_000;
// A server that restarts is back before anybody needs to be told.
const LOST_AFTER_MS = 1_500;
// The server says something every 15 s; a connection on which nothing comes may be dead without anybody having noticed.
const SILENT_MS_MAX = 40_000;
const SIGNS_OF_LIFE = ["ping", "status"];
// A browser has six connections to a server without HTTP/2, for all its tabs together.
const HIDDEN_MS_MAX = 60_000;

type Handler = (data: unknown) => void;

export class Live {
  private url: string | null = null;
  private source: EventSource | null = null;
  private state: Connection = "off";
  private previewsWanted = 0;
  private failures = 0;
  private again: number | undefined;
  private doubt: number | undefined;
  private silence: number | undefined;
  private hidden: number | undefined;
  private isResting = false;
  private wasAway = false;
  private readonly handlers = new Map<string, Set<Handler>>();
  private readonly watchers = new Set<() => void>();

  start(url: string): void {
    if (this.url === url) return;
    this.stop();
    this.url = url;
    document.addEventListener("visibilitychange", this.seen);
    this.open();
    this.seen();
  }

  stop(): void {
    this.url = null;
    this.close();
    document.removeEventListener("visibilitychange", this.seen);
    window.clearTimeout(this.hidden);
    this.isResting = this.wasAway = false;
    window.clearTimeout(this.doubt);
    this.doubt = undefined;
    this.move("off");
  }

  on(name: string, handler: Handler): () => void {
    let known = this.handlers.get(name);
    if (!known) {
      known = new Set();
      this.handlers.set(name, known);
      this.source?.addEventListener(name, this.heard);
    }
    known.add(handler);
    return () => known.delete(handler);
  }

  /** Pictures of running jobs are sent only while somebody looks at one. */
  wantPreviews(): () => void {
    this.previewsWanted += 1;
    if (this.previewsWanted === 1) this.reopen();
    return () => {
      this.previewsWanted -= 1;
      if (this.previewsWanted === 0) this.reopen();
    };
  }

  readonly watch = (changed: () => void): (() => void) => {
    this.watchers.add(changed);
    return () => this.watchers.delete(changed);
  };

  readonly connection = (): Connection => this.state;

  /** For a person who does not want to wait. */
  readonly tryNow = (): void => {
    this.failures = 0;
    this.reopen();
  };

  private reopen(): void {
    if (this.url === null) return;
    // What happens between two streams is told by neither.
    this.wasAway = true;
    this.close();
    this.open();
  }

  private open(): void {
    if (this.url === null || this.isResting) return;
    if (this.state === "off") this.move("connecting");
    const source = new EventSource(this.previewsWanted > 0 ? `${this.url}?previews=true` : this.url);
    this.source = source;
    source.onopen = () => this.opened();
    source.onerror = () => this.failed(source);
    for (const name of this.handlers.keys()) source.addEventListener(name, this.heard);
    for (const name of SIGNS_OF_LIFE) source.addEventListener(name, () => this.listen(source));
    this.listen(source);
  }

  private listen(source: EventSource): void {
    window.clearTimeout(this.silence);
    this.silence = window.setTimeout(() => this.failed(source), SILENT_MS_MAX);
  }

  /** A tab that nobody looks at gives its connection back. */
  private readonly seen = (): void => {
    window.clearTimeout(this.hidden);
    if (document.visibilityState === "hidden") this.hidden = window.setTimeout(() => this.rest(), HIDDEN_MS_MAX);
    else if (this.isResting) this.wake();
  };

  private rest(): void {
    this.isResting = true;
    this.close();
    window.clearTimeout(this.doubt);
    this.doubt = undefined;
    this.move("connecting");
  }

  private wake(): void {
    this.isResting = false;
    this.failures = 0;
    this.reopen();
  }

  private close(): void {
    window.clearTimeout(this.again);
    window.clearTimeout(this.silence);
    this.source?.close();
    this.source = null;
  }

  private opened(): void {
    this.failures = 0;
    window.clearTimeout(this.doubt);
    this.doubt = undefined;
    this.move("live");
    // What happened meanwhile was told to nobody.
    if (this.wasAway) void queries.invalidateQueries();
    this.wasAway = false;
  }

  private failed(source: EventSource): void {
    if (source !== this.source) return;
    this.doubt ??= window.setTimeout(() => this.move("lost"), LOST_AFTER_MS);
    // The browser's own second try comes late, and after a refusal never: ours does both.
    this.close();
    const pause = Math.min(AGAIN_MS_MIN * 2 ** this.failures, AGAIN_MS_MAX) * (0.75 + Math.random() / 2);
    this.failures += 1;
    this.again = window.setTimeout(() => {
      checkSession().catch(() => undefined).finally(() => this.reopen());
    }, pause);
  }

  private move(state: Connection): void {
    if (this.state === state) return;
    this.state = state;
    for (const each of this.watchers) each();
  }

  private readonly heard = (event: MessageEvent<string>): void => {
    let data: unknown;
    try {
      data = JSON.parse(event.data);
    } catch {
      return;
    }
    for (const handler of this.handlers.get(event.type) ?? []) handler(data);
  };
}

export const live = new Live();

export function useConnection(): Connection {
  return useSyncExternalStore(live.watch, live.connection);
}

/** `refetchInterval` of a query that the stream keeps fresh: none while it is up. */
export function usePolling(everyMs: number = POLL_MS): number | false {
  return useConnection() === "live" ? false : everyMs;
}

export function useLive<T>(name: string, handler: (data: T) => void): void {
  const hear = useEffectEvent((data: unknown) => handler(data as T));
  useEffect(() => live.on(name, (data) => hear(data)), [name]);
}

/** `act`, once for all that happens within a moment, and not later for more of it: a busy run never pauses. It is over
 * before it begins again: where the server is slow, nothing piles up and nothing is broken off. */
export function useSoon(act: () => Promise<unknown>, afterMs: number): () => void {
  const due = useRef<number | undefined>(undefined);
  const isUnderWay = useRef(false);
  const isMissed = useRef(false);
  const soon = () => {
    isMissed.current = isUnderWay.current;
    if (isUnderWay.current) return;
    due.current ??= window.setTimeout(() => {
      due.current = undefined;
      isUnderWay.current = true;
      void act().catch(() => undefined).finally(() => {
        isUnderWay.current = false;
        if (isMissed.current) soon();
      });
    }, afterMs);
  };
  return soon;
}

// However many notices come at once.
const NOTICED_MS = 250;

/** Notices carry nothing: what they are about is read again. */
export function useNotice(name: string, read: () => Promise<unknown>, afterMs: number = NOTICED_MS): void {
  useLive(name, useSoon(read, afterMs));
}

export function usePreviews(areWanted: boolean): void {
  useEffect(() => (areWanted ? live.wantPreviews() : undefined), [areWanted]);
}
