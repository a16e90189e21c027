/** The canvas and whoever moves it: wheel, drag, keys, the clock. Draws at most once a frame, and only when something moved. */
import type { Blocks, Found } from "./blocks";
import { AXIS_H, blockAt, draw, LANE_H, type Look, type Scene } from "./draw";
import { DAY_MS, isAtNow, pan, spanOf, upToNow, zoom, type Window } from "./window";

export type Told = {
  hover: (found: Found | null, x: number, y: number) => void;
  open: (found: Found) => void;
  look: (window: Window, follows: boolean) => void;
};

const TELL_MS = 150;
const DRAG_PX = 4;
const TICK_MS_MIN = 100;
const TICK_MS_MAX = 1_000;
const WIDE_PX = 640;

export class Stage {
  private window: Window;
  private follows = true;
  private order: number[] = [];
  private frame = 0;
  private timer = 0;
  private telling = 0;
  private hovered: number | null = null;
  private drag: { x: number; y: number; moved: boolean } | null = null;
  private readonly off = new AbortController();
  private readonly sizes: ResizeObserver;

  constructor(
    private readonly scroller: HTMLElement,
    private readonly canvas: HTMLCanvasElement,
    private blocks: Blocks,
    private look: Look,
    private readonly aheadMs: number,
    private readonly told: Told,
    spanMs: number,
  ) {
    this.window = upToNow(spanMs, this.now);
    const { signal } = this.off;
    scroller.addEventListener("scroll", this.redraw, { signal, passive: true });
    scroller.addEventListener("wheel", this.wheel, { signal, passive: false });
    scroller.addEventListener("keydown", this.key, { signal });
    canvas.addEventListener("pointerdown", this.press, { signal });
    canvas.addEventListener("pointermove", this.move, { signal });
    canvas.addEventListener("pointerup", this.release, { signal });
    canvas.addEventListener("pointercancel", () => (this.drag = null), { signal });
    canvas.addEventListener("pointerleave", () => this.hover(null, 0, 0), { signal });
    this.sizes = new ResizeObserver(this.redraw);
    this.sizes.observe(scroller);
    this.sort();
    this.tick();
  }

  /** By the clock of the database. */
  private get now(): number {
    return Date.now() + this.aheadMs;
  }

  close(): void {
    this.off.abort();
    this.sizes.disconnect();
    cancelAnimationFrame(this.frame);
    window.clearTimeout(this.timer);
    window.clearTimeout(this.telling);
  }

  show(blocks: Blocks, look: Look): void {
    this.blocks = blocks;
    this.look = look;
    this.sort();
    this.redraw();
  }

  span(spanMs: number): void {
    this.follows = true;
    this.moveTo(upToNow(spanMs, this.now));
  }

  nearer(factor: number): void {
    const at = this.follows ? Math.min(this.now, this.window.toMs) : (this.window.fromMs + this.window.toMs) / 2;
    this.moveTo(zoom(this.window, factor, at, this.now));
  }

  /** Fleets together, those that are there first. */
  private sort(): void {
    const { lanes } = this.blocks;
    const away = (status: string) => (status === "gone" || status === "revoked" ? 1 : 0);
    if (this.order.length !== lanes.length) {
      const names = new Intl.Collator("en", { numeric: true });
      this.order = lanes.map((_, index) => index).sort((a, b) => {
        const [one, other] = [lanes[a], lanes[b]];
        if (!one || !other) return 0;
        return away(one.status) - away(other.status) || names.compare(one.fleet ?? "", other.fleet ?? "") || names.compare(one.worker, other.worker);
      });
    }
  }

  private tick = (): void => {
    if (this.follows) this.window = upToNow(spanOf(this.window), this.now);
    this.redraw();
    const perPixel = spanOf(this.window) / Math.max(200, this.canvas.clientWidth);
    this.timer = window.setTimeout(this.tick, Math.min(Math.max(perPixel, TICK_MS_MIN), TICK_MS_MAX));
  };

  private moveTo(next: Window): void {
    this.window = next;
    this.follows = isAtNow(next, this.now);
    this.redraw();
  }

  readonly redraw = (): void => {
    if (this.frame === 0) this.frame = requestAnimationFrame(this.paint);
  };

  private readonly paint = (): void => {
    this.frame = 0;
    const context = this.canvas.getContext("2d");
    if (!context) return;
    const [width, height, ratio] = [this.scroller.clientWidth, this.scroller.clientHeight, window.devicePixelRatio || 1];
    const [wide, tall] = [Math.round(width * ratio), Math.round(height * ratio)];
    if (this.canvas.width !== wide || this.canvas.height !== tall) {
      this.canvas.width = wide;
      this.canvas.height = tall;
      this.canvas.style.width = `${width}px`;
      this.canvas.style.height = `${height}px`;
    }
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    draw(context, this.scene(width, height), this.look);
    if (this.telling === 0) {
      this.telling = window.setTimeout(() => {
        this.telling = 0;
        this.told.look(this.window, this.follows);
      }, TELL_MS);
    }
  };

  private scene(width = this.scroller.clientWidth, height = this.scroller.clientHeight): Scene {
    return {
      blocks: this.blocks, order: this.order, window: this.window, nowMs: this.now, scrollY: this.scroller.scrollTop,
      width, height, gutter: width > WIDE_PX ? 168 : 92, hovered: this.hovered,
    };
  }

  private msPerPixel(): number {
    const scene = this.scene();
    return spanOf(this.window) / Math.max(1, scene.width - scene.gutter);
  }

  private readonly wheel = (event: WheelEvent): void => {
    const sideways = event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY);
    if (event.ctrlKey || event.metaKey) {
      event.preventDefault();
      const scene = this.scene();
      const at = this.window.fromMs + (event.offsetX - scene.gutter) * this.msPerPixel();
      this.moveTo(zoom(this.window, Math.exp(event.deltaY * 0.002), at, this.now));
    } else if (sideways) {
      event.preventDefault();
      this.moveTo(pan(this.window, (event.deltaX || event.deltaY) * this.msPerPixel(), this.now));
    }
  };

  private readonly key = (event: KeyboardEvent): void => {
    const acts: Record<string, () => void> = {
      ArrowLeft: () => this.moveTo(pan(this.window, -spanOf(this.window) / 5, this.now)),
      ArrowRight: () => this.moveTo(pan(this.window, spanOf(this.window) / 5, this.now)),
      "+": () => this.nearer(1 / 1.5),
      "=": () => this.nearer(1 / 1.5),
      "-": () => this.nearer(1.5),
      "0": () => this.span(DAY_MS),
      End: () => this.span(spanOf(this.window)),
    };
    const act = acts[event.key];
    if (!act || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    act();
  };

  private readonly press = (event: PointerEvent): void => {
    if (event.button !== 0) return;
    this.drag = { x: event.clientX, y: event.clientY, moved: false };
    this.canvas.setPointerCapture(event.pointerId);
  };

  private readonly move = (event: PointerEvent): void => {
    if (!this.drag) return this.hover(blockAt(this.scene(), event.offsetX, event.offsetY), event.offsetX, event.offsetY);
    const [dx, dy] = [event.clientX - this.drag.x, event.clientY - this.drag.y];
    if (!this.drag.moved && Math.abs(dx) + Math.abs(dy) < DRAG_PX) return;
    this.drag = { x: event.clientX, y: event.clientY, moved: true };
    this.hover(null, 0, 0);
    this.moveTo(pan(this.window, -dx * this.msPerPixel(), this.now));
    if (event.pointerType === "mouse") this.scroller.scrollTop -= dy;
  };

  private readonly release = (event: PointerEvent): void => {
    const clicked = this.drag && !this.drag.moved;
    this.drag = null;
    const index = clicked ? blockAt(this.scene(), event.offsetX, event.offsetY) : null;
    if (index !== null) this.told.open(this.blocks.describe(index));
  };

  private hover(index: number | null, x: number, y: number): void {
    if (index === null && this.hovered === null) return;
    if (index !== this.hovered) this.redraw();
    this.hovered = index;
    this.canvas.style.cursor = index === null ? "grab" : "pointer";
    this.told.hover(index === null ? null : this.blocks.describe(index), x, y);
  }
}

export const heightOf = (lanes: number) => AXIS_H + lanes * LANE_H;
