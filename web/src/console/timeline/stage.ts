/** The strips of the timeline and whoever moves them: wheel, drag, keys, the clock. Draws at most once a frame, and only
 * what is in sight and not drawn yet. */
import type { Blocks, Found } from "./blocks";
import { AXIS_H, blockAt, boxOf, drawAxis, drawStrip, LANE_H, nowAt, type Look, type Scene } from "./draw";
import { DAY_MS, isAtNow, pan, spanOf, upToNow, zoom, type Window } from "./window";

export type Told = {
  hover: (found: Found | null, x: number, y: number) => void;
  open: (found: Found) => void;
  look: (window: Window, follows: boolean) => void;
};

const TELL_MS = 150;
const DRAG_PX = 4;
const TICK_MS_MIN = 100;
const TICK_MS_MAX = 20_000;
const STRIP_LANES = 16;
const STRIPS_KEPT_MAX = 24;
const WIDE_PX = 640;

export class Stage {
  private window: Window;
  private follows = true;
  private order: number[] = [];
  private frame = 0;
  private timer = 0;
  private telling = 0;
  private hovered: number | null = null;
  private readonly strips = new Map<number, { canvas: HTMLCanvasElement; drawn: number }>();
  // What is drawn of an earlier picture is drawn again when it comes into sight.
  private picture = 0;
  private scene: Scene;
  private drag: { x: number; y: number; moved: boolean } | null = null;
  private readonly off = new AbortController();
  private readonly sizes: ResizeObserver;

  constructor(
    private readonly scroller: HTMLElement,
    /** What is scrolled: the strips are put into it. */
    private readonly ground: HTMLElement,
    private readonly parts: { axis: HTMLCanvasElement; now: HTMLElement; mark: HTMLElement },
    private blocks: Blocks,
    private look: Look,
    private readonly aheadMs: number,
    private readonly told: Told,
    spanMs: number,
  ) {
    this.window = upToNow(spanMs, this.now);
    this.scene = this.lookAround();
    const { signal } = this.off;
    scroller.addEventListener("scroll", this.cover, { signal, passive: true });
    scroller.addEventListener("wheel", this.wheel, { signal, passive: false });
    scroller.addEventListener("keydown", this.key, { signal });
    ground.addEventListener("pointerdown", this.press, { signal });
    ground.addEventListener("pointermove", this.move, { signal });
    ground.addEventListener("pointerup", this.release, { signal });
    ground.addEventListener("pointercancel", () => (this.drag = null), { signal });
    ground.addEventListener("pointerleave", () => this.hover(null, 0, 0), { signal });
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
    for (const { canvas } of this.strips.values()) canvas.remove();
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
    const perPixel = spanOf(this.window) / Math.max(200, this.scene.width);
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
    this.picture += 1;
    this.scene = this.lookAround();
    const axis = sized(this.parts.axis, this.scene.width, AXIS_H);
    if (axis) drawAxis(axis, this.scene, this.look);
    const now = nowAt(this.scene);
    this.parts.now.style.transform = `translateX(${Math.round(now)}px)`;
    this.parts.now.hidden = now < this.scene.gutter || now > this.scene.width;
    this.mark();
    this.cover();
    if (this.telling === 0) {
      this.telling = window.setTimeout(() => {
        this.telling = 0;
        this.told.look(this.window, this.follows);
      }, TELL_MS);
    }
  };

  /** Every strip that is in sight is there, and drawn. While somebody only scrolls, that is nearly nothing. */
  private readonly cover = (): void => {
    const [top, tall] = [this.scroller.scrollTop, STRIP_LANES * LANE_H];
    const first = Math.max(0, Math.floor((top - AXIS_H) / tall));
    const last = Math.min(Math.ceil(this.order.length / STRIP_LANES), Math.ceil((top + this.scroller.clientHeight) / tall));
    for (let number = first; number < last; number += 1) {
      const strip = this.strips.get(number) ?? this.addStrip(number, last - first);
      if (strip.drawn === this.picture) continue;
      strip.drawn = this.picture;
      const rows = { first: number * STRIP_LANES, last: Math.min((number + 1) * STRIP_LANES, this.order.length) };
      const context = sized(strip.canvas, this.scene.width, (rows.last - rows.first) * LANE_H);
      if (context) drawStrip(context, this.scene, this.look, rows);
    }
  };

  private addStrip(number: number, inSight: number): { canvas: HTMLCanvasElement; drawn: number } {
    while (this.strips.size >= Math.max(STRIPS_KEPT_MAX, 2 * inSight)) {
      const [farthest] = [...this.strips.keys()].sort((a, b) => Math.abs(b - number) - Math.abs(a - number));
      if (farthest === undefined) break;
      this.strips.get(farthest)?.canvas.remove();
      this.strips.delete(farthest);
    }
    const canvas = document.createElement("canvas");
    canvas.setAttribute("aria-hidden", "true");
    canvas.style.cssText = `position: absolute; left: 0; top: ${AXIS_H + number * STRIP_LANES * LANE_H}px;`;
    this.ground.append(canvas);
    const made = { canvas, drawn: -1 };
    this.strips.set(number, made);
    return made;
  }

  /** The frame around what is under the pointer. */
  private mark(): void {
    const box = this.hovered === null ? null : boxOf(this.scene, this.hovered);
    const { style } = this.parts.mark;
    this.parts.mark.hidden = box === null;
    if (!box) return;
    style.transform = `translate(${box.left - 2}px, ${AXIS_H + box.top - 2}px)`;
    style.width = `${box.width + 4}px`;
    style.height = `${box.height + 4}px`;
  }

  private lookAround(): Scene {
    const width = this.scroller.clientWidth;
    return { blocks: this.blocks, order: this.order, window: this.window, nowMs: this.now, width, gutter: width > WIDE_PX ? 168 : 92 };
  }

  /** Where the pointer is on the ground below the axis. */
  private place(event: PointerEvent | WheelEvent): [x: number, y: number] {
    const box = this.ground.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top - AXIS_H];
  }

  private msPerPixel(): number {
    return spanOf(this.window) / Math.max(1, this.scene.width - this.scene.gutter);
  }

  private readonly wheel = (event: WheelEvent): void => {
    const sideways = event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY);
    if (event.ctrlKey || event.metaKey) {
      event.preventDefault();
      const at = this.window.fromMs + (this.place(event)[0] - this.scene.gutter) * this.msPerPixel();
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
    this.ground.setPointerCapture(event.pointerId);
  };

  private readonly move = (event: PointerEvent): void => {
    const [x, y] = this.place(event);
    // The axis stays at the top, over the lines.
    const under = y + AXIS_H - this.scroller.scrollTop < AXIS_H ? null : blockAt(this.scene, x, y);
    if (!this.drag) return this.hover(under, x, y + AXIS_H - this.scroller.scrollTop);
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
    const index = clicked ? blockAt(this.scene, ...this.place(event)) : null;
    if (index !== null) this.told.open(this.blocks.describe(index));
  };

  private hover(index: number | null, x: number, y: number): void {
    if (index === null && this.hovered === null) return;
    if (index !== this.hovered) {
      this.hovered = index;
      this.mark();
      this.ground.style.cursor = index === null ? "grab" : "pointer";
    }
    this.told.hover(index === null ? null : this.blocks.describe(index), x, y);
  }
}

/** As large as it should be, in the screen's own pixels. To set a size clears the picture. */
function sized(canvas: HTMLCanvasElement, width: number, height: number): CanvasRenderingContext2D | null {
  const ratio = window.devicePixelRatio || 1;
  const [wide, tall] = [Math.round(width * ratio), Math.round(height * ratio)];
  if (canvas.width !== wide || canvas.height !== tall) {
    canvas.width = wide;
    canvas.height = tall;
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
  }
  const context = canvas.getContext("2d", { alpha: false });
  context?.setTransform(ratio, 0, 0, ratio, 0, 0);
  return context;
}

export const heightOf = (lanes: number) => AXIS_H + lanes * LANE_H;
