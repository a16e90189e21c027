/** The canvas: keeps the camera, hears wheel, mouse and fingers, and paints a frame when something has changed. */
import { fit, kept, pan, scaleMin, showing, toWorld, zoomAt, type Camera, type Size } from "./camera";
import { paint, type Palette, type Scene } from "./paint";

type Point = { x: number; y: number };
type Heard = { select: (id: string | null) => void; open: (id: string) => void; hover: (id: string | null) => void };

const WHEEL = 0.0016;
const CLICK_PX = 5;
const RATIO_MAX = 2;
// While it moves, a frame that takes longer than this to paint is painted only so often; between them the last one is
// moved and scaled as it is.
const FRAME_MS_MAX = 5;
const FRESH_MS = 110;

export class Stage {
  private camera: Camera = { x: 0, y: 0, scale: 1 };
  private size: Size = { width: 0, height: 0 };
  private scene: Scene | null = null;
  private frame = 0;
  private isMoved = false;
  private palette: Palette | null = null;
  private painted: { camera: Camera; at: number; costMs: number } | null = null;
  private readonly last = document.createElement("canvas");
  private resting: ReturnType<typeof setTimeout> | undefined;
  private readonly pointers = new Map<number, Point>();
  private travelled = 0;
  private readonly context: CanvasRenderingContext2D | null;
  private readonly watching: ResizeObserver;
  private readonly ending = new AbortController();

  constructor(private readonly canvas: HTMLCanvasElement, private readonly heard: Heard) {
    this.context = canvas.getContext("2d", { alpha: false });
    this.watching = new ResizeObserver(() => this.measure());
    this.watching.observe(canvas);
    const { signal } = this.ending;
    canvas.addEventListener("wheel", this.onWheel, { passive: false, signal });
    canvas.addEventListener("pointerdown", this.onDown, { signal });
    canvas.addEventListener("pointermove", this.onMove, { signal });
    canvas.addEventListener("pointerup", this.onUp, { signal });
    canvas.addEventListener("pointercancel", this.onUp, { signal });
    canvas.addEventListener("pointerleave", () => this.heard.hover(null), { signal });
    canvas.addEventListener("dblclick", this.onDouble, { signal });
  }

  close(): void {
    cancelAnimationFrame(this.frame);
    clearTimeout(this.resting);
    this.watching.disconnect();
    this.ending.abort();
  }

  show(scene: Scene): void {
    this.scene = scene;
    // Until somebody moves it, all of it stays in sight while it grows.
    if (!this.isMoved) this.camera = fit(scene.layout.bounds, this.size);
    this.ask();
  }

  /** Light or dark: the colours are those of the page. */
  recolour(): void {
    this.palette = paletteOf(this.canvas);
    this.ask();
  }

  readonly ask = (): void => {
    if (this.frame) return;
    this.frame = requestAnimationFrame(() => {
      this.frame = 0;
      if (!this.moveLast()) this.paint();
    });
  };

  fitAll(): void {
    if (!this.scene) return;
    this.isMoved = false;
    this.move(fit(this.scene.layout.bounds, this.size), false);
  }

  zoom(factor: number): void {
    this.zoomBy(factor, { x: this.size.width / 2, y: this.size.height / 2 });
  }

  reveal(id: string): void {
    const card = this.scene?.layout.cards.get(id);
    if (card) this.move(showing(this.camera, card, this.size), true);
  }

  /** The thumbs that somebody looks at now. */
  readonly urlsInSight = (): string[] => {
    const [scene, camera] = [this.scene, this.camera];
    if (!scene) return [];
    const [from, to] = [toWorld(camera, { x: 0, y: 0 }), toWorld(camera, { x: this.size.width, y: this.size.height })];
    const found: string[] = [];
    for (const card of scene.layout.cards.values()) {
      if (card.x > to.x || card.y > to.y || card.x + card.width < from.x || card.y + card.height < from.y) continue;
      const thumb = scene.looks.get(card.id)?.thumb;
      if (thumb) found.push(thumb);
    }
    return found;
  };

  private measure(): void {
    const { clientWidth: width, clientHeight: height } = this.canvas;
    const ratio = this.ratio();
    this.size = { width, height };
    this.canvas.width = Math.max(1, Math.round(width * ratio));
    this.canvas.height = Math.max(1, Math.round(height * ratio));
    if (!this.isMoved && this.scene) this.camera = fit(this.scene.layout.bounds, this.size);
    // At once, not in the next frame: a canvas whose size was set is empty.
    this.paint();
  }

  private ratio(): number {
    return Math.min(RATIO_MAX, window.devicePixelRatio || 1);
  }

  private paint(): void {
    if (!this.context || !this.scene || this.size.width === 0) return;
    this.palette ??= paletteOf(this.canvas);
    const began = performance.now();
    paint(this.context, this.scene, this.camera, this.size, this.ratio(), this.palette);
    // By a copy, which also waits until all of it is really drawn.
    if (this.last.width !== this.canvas.width || this.last.height !== this.canvas.height) {
      [this.last.width, this.last.height] = [this.canvas.width, this.canvas.height];
    }
    this.last.getContext("2d", { alpha: false })?.drawImage(this.canvas, 0, 0);
    const now = performance.now();
    this.painted = { camera: this.camera, at: now, costMs: now - began };
  }

  /** The frame before, where the camera is now; false where it is too old, or painting is quick anyway. */
  private moveLast(): boolean {
    const [context, painted, palette] = [this.context, this.painted, this.palette];
    if (!context || !painted || !palette || this.resting === undefined) return false;
    if (painted.costMs < FRAME_MS_MAX || performance.now() - painted.at > Math.max(FRESH_MS, 3 * painted.costMs)) return false;
    const by = this.camera.scale / painted.camera.scale;
    const ratio = this.ratio();
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.imageSmoothingQuality = "low";
    context.fillStyle = palette.ground;
    context.fillRect(0, 0, this.size.width, this.size.height);
    const [x, y] = [this.camera.x - painted.camera.x * by, this.camera.y - painted.camera.y * by];
    context.drawImage(this.last, x, y, this.size.width * by, this.size.height * by);
    return true;
  }

  private move(camera: Camera, byHand: boolean): void {
    if (!this.scene) return;
    if (byHand) {
      this.isMoved = true;
      clearTimeout(this.resting);
      this.resting = setTimeout(() => {
        this.resting = undefined;
        this.ask();
      }, FRESH_MS);
    }
    this.camera = kept(camera, this.scene.layout.bounds, this.size);
    this.ask();
  }

  private zoomBy(factor: number, at: Point): void {
    if (this.scene) this.move(zoomAt(this.camera, factor, at, scaleMin(this.scene.layout.bounds, this.size)), true);
  }

  private hit(at: Point): string | null {
    if (!this.scene) return null;
    const { x, y } = toWorld(this.camera, at);
    for (const card of this.scene.layout.cards.values()) {
      if (x >= card.x && y >= card.y && x <= card.x + card.width && y <= card.y + card.height) return card.isBud ? null : card.id;
    }
    return null;
  }

  private at(event: MouseEvent): Point {
    const { left, top } = this.canvas.getBoundingClientRect();
    return { x: event.clientX - left, y: event.clientY - top };
  }

  private readonly onWheel = (event: WheelEvent): void => {
    event.preventDefault();
    const lines = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? 16 : 1;
    if (event.shiftKey) this.move(pan(this.camera, -(event.deltaX || event.deltaY) * lines, 0), true);
    else this.zoomBy(Math.exp(-event.deltaY * lines * WHEEL * (event.ctrlKey ? 4 : 1)), this.at(event));
  };

  private readonly onDown = (event: PointerEvent): void => {
    this.canvas.setPointerCapture(event.pointerId);
    this.pointers.set(event.pointerId, this.at(event));
    this.travelled = this.pointers.size > 1 ? Infinity : 0;
  };

  private readonly onMove = (event: PointerEvent): void => {
    const [before, now] = [this.pointers.get(event.pointerId), this.at(event)];
    if (!before) {
      this.heard.hover(this.hit(now));
      return;
    }
    this.travelled += Math.hypot(now.x - before.x, now.y - before.y);
    const other = [...this.pointers].find(([id]) => id !== event.pointerId)?.[1];
    if (other) {
      const by = Math.hypot(now.x - other.x, now.y - other.y) / Math.max(1, Math.hypot(before.x - other.x, before.y - other.y));
      this.zoomBy(by, { x: (now.x + other.x) / 2, y: (now.y + other.y) / 2 });
      this.move(pan(this.camera, (now.x - before.x) / 2, (now.y - before.y) / 2), true);
    } else if (this.travelled > CLICK_PX) {
      this.move(pan(this.camera, now.x - before.x, now.y - before.y), true);
    }
    this.pointers.set(event.pointerId, now);
  };

  private readonly onUp = (event: PointerEvent): void => {
    const wasHeld = this.pointers.delete(event.pointerId);
    if (!wasHeld || event.type === "pointercancel" || this.travelled > CLICK_PX) return;
    const id = this.hit(this.at(event));
    this.heard.select(id);
    if (id) this.heard.open(id);
  };

  private readonly onDouble = (event: MouseEvent): void => {
    const at = this.at(event);
    if (this.hit(at) === null) this.zoomBy(1.8, at);
  };
}

function paletteOf(canvas: HTMLCanvasElement): Palette {
  const style = getComputedStyle(canvas);
  const colour = (name: string) => style.getPropertyValue(name).trim();
  return {
    ground: colour("--tree-ground"),
    card: colour("--tree-card"),
    line: colour("--tree-line"),
    text: colour("--tree-text"),
    quiet: colour("--tree-quiet"),
    accent: colour("--tree-accent"),
    bad: colour("--tree-bad"),
    shade: "rgba(12, 11, 10, 0.72)",
  };
}
