/** The pictures of a tree, in two sizes: small ones for the view from afar, where a thousand are drawn at once. */

export const SMALL = 48;
const AT_ONCE = 6;
const AGAIN_MS_MIN = 1_000;
const AGAIN_MS_MAX = 60_000;

export type Thumb = { small: ImageBitmap; large: ImageBitmap };
type Wanted = { url: string; tries: number };
// Where the server does not say how long to wait.
const BUSY_S = 10;

export class Thumbs {
  private readonly drawn = new Map<string, Thumb>();
  private readonly wanted = new Map<string, Wanted>();
  /** Asked for at least once: wanted, under way, resting, there, or gone for good. */
  private readonly known = new Set<string>();
  /** Those that could not be had, until they are asked for again. */
  private readonly resting = new Map<string, Wanted>();
  private underWay = 0;
  private closed = false;
  private pausedUntil = 0;
  /** Somebody looks at these: they come first. */
  private inSight: () => string[] = () => [];

  constructor(private readonly changed: () => void) {}

  get(url: string): Thumb | undefined {
    return this.drawn.get(url);
  }

  get count(): number {
    return this.drawn.size;
  }

  want(urls: string[], inSight: () => string[]): void {
    this.inSight = inSight;
    for (const url of urls) {
      if (this.known.has(url)) continue;
      this.known.add(url);
      this.wanted.set(url, { url, tries: 0 });
    }
    this.fill();
  }

  /** The server is back: what could not be had need not wait any longer. */
  again(): void {
    for (const url of this.resting.keys()) this.wanted.set(url, { url, tries: 0 });
    this.resting.clear();
    this.fill();
  }

  close(): void {
    this.closed = true;
    this.wanted.clear();
    for (const { small, large } of this.drawn.values()) {
      small.close();
      large.close();
    }
    this.drawn.clear();
  }

  private fill(): void {
    if (this.underWay >= AT_ONCE || this.wanted.size === 0 || Date.now() < this.pausedUntil) return;
    const first = this.inSight().filter((url) => this.wanted.has(url));
    const next = [...first, ...this.wanted.keys()];
    for (const url of next) {
      if (this.underWay >= AT_ONCE) return;
      const wanted = this.wanted.get(url);
      if (!wanted) continue;
      this.wanted.delete(url);
      this.underWay += 1;
      void this.fetch(wanted).finally(() => {
        this.underWay -= 1;
        if (!this.closed) this.fill();
      });
    }
  }

  private async fetch(wanted: Wanted): Promise<void> {
    try {
      const answer = await fetch(wanted.url);
      if (answer.status === 404) throw new Missing();
      if (answer.status === 429) return this.pause(wanted, Number(answer.headers.get("Retry-After")) || BUSY_S);
      if (!answer.ok) throw new Error(String(answer.status));
      const bytes = await answer.blob();
      const large = await createImageBitmap(bytes).catch(() => {
        throw new Missing();
      });
      const by = SMALL / Math.max(large.width, large.height);
      const small = await createImageBitmap(large, {
        resizeWidth: Math.max(1, Math.round(large.width * by)),
        resizeHeight: Math.max(1, Math.round(large.height * by)),
        resizeQuality: "medium",
      });
      if (this.closed) return;
      this.drawn.set(wanted.url, { small, large });
      this.changed();
    } catch (problem) {
      this.failed(wanted, problem instanceof Missing);
    }
  }

  /** Too many for now: that says nothing about this picture, and asking on would only make it longer. */
  private pause(wanted: Wanted, seconds: number): void {
    if (this.closed) return;
    this.wanted.set(wanted.url, wanted);
    this.pausedUntil = Date.now() + seconds * 1000;
    window.setTimeout(() => {
      if (!this.closed) this.fill();
    }, seconds * 1000 + 1);
  }

  /** A picture that is not there, or is none, stays away; everything else passes. */
  private failed(wanted: Wanted, isGone: boolean): void {
    if (this.closed || isGone) return;
    const { url, tries } = wanted;
    this.resting.set(url, { url, tries: tries + 1 });
    window.setTimeout(() => {
      const rested = this.resting.get(url);
      if (this.closed || !rested) return;
      this.resting.delete(url);
      this.wanted.set(url, rested);
      this.fill();
    }, Math.min(AGAIN_MS_MIN * 2 ** tries, AGAIN_MS_MAX));
  }
}

class Missing extends Error {}
