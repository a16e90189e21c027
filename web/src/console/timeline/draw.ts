/** The timeline in strips of a few lines. The browser scrolls them: nothing is drawn for that but strips that come into
 * sight. Of each line only what is in the window is looked at, and blocks of one colour are filled together. */
import type { Blocks, Lane } from "./blocks";
import { clockText, spanOf, ticks, type Window } from "./window";

export const LANE_H = 26;
export const AXIS_H = 28;
const PAD = 3;
const TICK_PX = 92;
const FONT = "12px ui-sans-serif, system-ui, sans-serif";
const SMALL = "11px ui-sans-serif, system-ui, sans-serif";

export type Look = { paper: string; text: string; quiet: string; line: string; lane: string; bad: string; palette: string[] };
export type Scene = { blocks: Blocks; order: number[]; window: Window; nowMs: number; width: number; gutter: number };
/** Lines that are drawn together, from the one to before the other. */
export type Strip = { first: number; last: number };

// Ten that can be told apart by most eyes, on paper and on ink.
const LIGHT = ["#c77b00", "#2f6fb5", "#3d8b57", "#8a4fa8", "#b8455b", "#1f8a94", "#7a6a2b", "#5661c4", "#a85a2a", "#4f7f1f"];
const DARK = ["#f4bc44", "#6aa9e9", "#6cc08b", "#c08be0", "#ee8297", "#5cc7d1", "#c9b766", "#98a2f5", "#e29a66", "#a0cc66"];

export function lookOf(dark: boolean): Look {
  return dark
    ? { paper: "#1c1b18", text: "#e9e7e2", quiet: "#aaa79f", line: "#34322d", lane: "#262521", bad: "#ff6f5c", palette: DARK }
    : { paper: "#ffffff", text: "#1b1a17", quiet: "#66625a", line: "#e4e0d8", lane: "#f6f3ee", bad: "#c9281a", palette: LIGHT };
}

export const colorOf = (look: Look, workflow: number) => look.palette[workflow % look.palette.length] ?? "#888";

export function drawStrip(canvas: CanvasRenderingContext2D, scene: Scene, look: Look, strip: Strip): void {
  canvas.fillStyle = look.paper;
  canvas.fillRect(0, 0, scene.width, (strip.last - strip.first) * LANE_H);
  drawGround(canvas, scene, look, strip);
  drawBlocks(canvas, scene, look, strip);
  drawNames(canvas, scene, look, strip);
}

const topOf = (strip: Strip, row: number) => (row - strip.first) * LANE_H;

function drawGround(canvas: CanvasRenderingContext2D, scene: Scene, look: Look, strip: Strip): void {
  canvas.fillStyle = look.lane;
  for (let row = strip.first; row < strip.last; row += 1) {
    canvas.fillRect(scene.gutter, topOf(strip, row) + PAD, scene.width - scene.gutter, LANE_H - 2 * PAD);
  }
  canvas.fillStyle = look.line;
  for (const { x } of marks(scene)) canvas.fillRect(x, 0, 1, (strip.last - strip.first) * LANE_H);
}

/** Where times stand on the axis. */
function marks(scene: Scene): { x: number; ms: number }[] {
  const perMs = (scene.width - scene.gutter) / spanOf(scene.window);
  return ticks(scene.window, Math.max(2, (scene.width - scene.gutter) / TICK_PX)).map((ms) => ({ x: Math.round(scene.gutter + (ms - scene.window.fromMs) * perMs), ms }));
}

function drawBlocks(canvas: CanvasRenderingContext2D, scene: Scene, look: Look, strip: Strip): void {
  const { blocks, window, gutter } = scene;
  const perMs = (scene.width - gutter) / spanOf(window);
  const rects = new Map<number, number[]>();
  const bad: number[] = [];
  const completed = blocks.outcomes.indexOf("completed");
  for (let row = strip.first; row < strip.last; row += 1) {
    const lane = blocks.lanes[scene.order[row] ?? -1];
    if (!lane) continue;
    const top = topOf(strip, row) + PAD;
    const tall = (LANE_H - 2 * PAD) / lane.slots;
    // Many blocks may share a pixel: the first one of each colour stands for them.
    const drawnTo = new Float64Array(lane.slots).fill(-1);
    for (let place = blocks.firstFrom(lane, window.fromMs); place < lane.blocks.length; place += 1) {
      const index = lane.blocks[place] ?? 0;
      const start = blocks.start[index] ?? 0;
      if (start > window.toMs) break;
      const end = Math.min(blocks.end[index] ?? 0, scene.nowMs);
      if (end < window.fromMs) continue;
      const slot = blocks.slot[index] ?? 0;
      const left = Math.max(gutter, gutter + (start - window.fromMs) * perMs);
      const right = Math.min(scene.width, gutter + (end - window.fromMs) * perMs);
      const failed = (blocks.outcome[index] ?? -1) >= 0 && blocks.outcome[index] !== completed;
      if (right - (drawnTo[slot] ?? -1) < 0.5 && !failed) continue;
      drawnTo[slot] = right;
      const gap = right - left > 4 ? 1 : 0;
      const color = blocks.workflow[index] ?? 0;
      let list = rects.get(color);
      if (!list) rects.set(color, (list = []));
      list.push(left, top + slot * tall, Math.max(right - left - gap, 0.75), tall - (lane.slots > 1 ? 1 : 0));
      if (failed) bad.push(Math.max(gutter, right - 3 - gap), top + slot * tall, Math.min(3, right - left), tall - (lane.slots > 1 ? 1 : 0));
    }
  }
  for (const [color, list] of rects) fill(canvas, colorOf(look, color), list);
  fill(canvas, look.bad, bad);
}

function fill(canvas: CanvasRenderingContext2D, color: string, list: number[]): void {
  canvas.fillStyle = color;
  for (let at = 0; at < list.length; at += 4) canvas.fillRect(list[at] ?? 0, list[at + 1] ?? 0, list[at + 2] ?? 0, list[at + 3] ?? 0);
}

/** Where a block stands, from the top of the first line. */
export function boxOf(scene: Scene, index: number): { left: number; top: number; width: number; height: number } | null {
  const { blocks, window, gutter } = scene;
  const row = scene.order.indexOf(blocks.lane[index] ?? -1);
  const lane = blocks.lanes[blocks.lane[index] ?? -1];
  if (row < 0 || !lane) return null;
  const perMs = (scene.width - gutter) / spanOf(window);
  const height = (LANE_H - 2 * PAD) / lane.slots;
  const left = Math.max(gutter, gutter + ((blocks.start[index] ?? 0) - window.fromMs) * perMs);
  const right = Math.min(scene.width, gutter + (Math.min(blocks.end[index] ?? 0, scene.nowMs) - window.fromMs) * perMs);
  return { left, top: row * LANE_H + PAD + (blocks.slot[index] ?? 0) * height, width: Math.max(right - left, 2), height };
}

export const nowAt = (scene: Scene) => scene.gutter + ((scene.nowMs - scene.window.fromMs) * (scene.width - scene.gutter)) / spanOf(scene.window);

function drawNames(canvas: CanvasRenderingContext2D, scene: Scene, look: Look, strip: Strip): void {
  canvas.font = FONT;
  canvas.textBaseline = "middle";
  for (let row = strip.first; row < strip.last; row += 1) {
    const lane = scene.blocks.lanes[scene.order[row] ?? -1];
    if (!lane) continue;
    const middle = topOf(strip, row) + LANE_H / 2;
    canvas.fillStyle = statusColor(lane, look);
    canvas.beginPath();
    canvas.arc(8, middle, 3.5, 0, Math.PI * 2);
    canvas.fill();
    canvas.fillStyle = look.text;
    canvas.fillText(shortened(canvas, lane.worker, scene.gutter - 28), 18, middle);
  }
}

function statusColor(lane: Lane, look: Look): string {
  if (lane.status === "approved") return "#3d9a5f";
  if (lane.status === "draining" || lane.status === "pending") return "#d9992a";
  return lane.status === "revoked" ? look.bad : look.quiet;
}

const shortNames = new Map<string, string>();

function shortened(canvas: CanvasRenderingContext2D, name: string, width: number): string {
  const key = `${width}:${name}`;
  let text = shortNames.get(key);
  if (text === undefined) {
    text = name;
    while (text.length > 4 && canvas.measureText(text).width > width) text = `${text.slice(0, -2)}…`.replace("……", "…");
    if (shortNames.size > 5_000) shortNames.clear();
    shortNames.set(key, text);
  }
  return text;
}

export function drawAxis(canvas: CanvasRenderingContext2D, scene: Scene, look: Look): void {
  canvas.fillStyle = look.paper;
  canvas.fillRect(0, 0, scene.width, AXIS_H);
  canvas.font = SMALL;
  canvas.textBaseline = "middle";
  for (const { x, ms } of marks(scene)) {
    canvas.fillStyle = look.line;
    canvas.fillRect(x, AXIS_H - 7, 1, 7);
    if (x > scene.width - 50) continue;
    canvas.fillStyle = look.quiet;
    canvas.fillText(clockText(ms, spanOf(scene.window)), x + 4, AXIS_H / 2 - 2);
  }
}

/** Which block is under the pointer. */
export function blockAt(scene: Scene, x: number, y: number): number | null {
  const row = Math.floor(y / LANE_H);
  const lane = scene.blocks.lanes[scene.order[row] ?? -1];
  if (!lane || x < scene.gutter || y < 0) return null;
  const { blocks, window } = scene;
  const msPer = spanOf(window) / (scene.width - scene.gutter);
  const ms = window.fromMs + (x - scene.gutter) * msPer;
  const slot = Math.min(lane.slots - 1, Math.max(0, Math.floor(((y - row * LANE_H - PAD) / (LANE_H - 2 * PAD)) * lane.slots)));
  let nearest: number | null = null;
  for (let place = blocks.firstFrom(lane, ms - 2 * msPer); place < lane.blocks.length; place += 1) {
    const index = lane.blocks[place] ?? 0;
    if ((blocks.start[index] ?? 0) > ms + 2 * msPer) break;
    if (Math.min(blocks.end[index] ?? 0, scene.nowMs) < ms - 2 * msPer || blocks.slot[index] !== slot) continue;
    nearest = index;
  }
  return nearest;
}
