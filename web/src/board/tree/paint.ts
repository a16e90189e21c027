/** One frame of the tree. Nothing is kept here: what is seen follows from what is given. */
import { isInSight, type Camera, type Size } from "./camera";
import { FAMILY_GAP, type Card, type Family, type Layout } from "./layout";
import { SMALL, type Thumbs } from "./thumbs";

export type Look = {
  thumb: string | null;
  /** None before the first vote: everybody begins with the same. */
  elo: number | null;
  isRejected: boolean;
  isPassed: boolean;
  /** Among those that may have children, or among the finals that lead. */
  isChosen: boolean;
  rank: number | null;
  failures: number;
};
/** `fraction`: how far its worker says it is; null while it waits. */
export type BudLook = { isRunning: boolean; fraction: number | null };

export type Palette = {
  ground: string; card: string; line: string; text: string; quiet: string; accent: string; bad: string; shade: string;
};

export type Scene = {
  layout: Layout;
  looks: Map<string, Look>;
  buds: Map<string, BudLook>;
  names: string[];
  thumbs: Thumbs;
  selected: string | null;
  hovered: string | null;
  /** Those that stand out while one is selected; null for all. */
  line: Set<string> | null;
};

/** From this side on, in pixels of the screen, a card carries words. */
const WORDS_FROM = 64;
const EDGES_FROM = 0.05;

export function paint(context: CanvasRenderingContext2D, scene: Scene, camera: Camera, size: Size, ratio: number, palette: Palette) {
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.fillStyle = palette.ground;
  context.fillRect(0, 0, size.width, size.height);
  // Smoothing costs most where it shows least: from afar the small copies are near the size at which they are drawn.
  context.imageSmoothingQuality = "low";
  if (camera.scale >= EDGES_FROM) paintEdges(context, scene, camera, size, palette);
  for (const family of scene.layout.families) {
    if (!isInSight(camera, family, size)) continue;
    for (const id of family.ids) {
      const card = scene.layout.cards.get(id);
      if (card && isInSight(camera, card, size)) paintCard(context, scene, card, camera, ratio, palette);
    }
  }
  paintNames(context, scene, camera, palette);
}

function paintEdges(context: CanvasRenderingContext2D, scene: Scene, camera: Camera, size: Size, palette: Palette) {
  for (const family of scene.layout.families) {
    const parent = family.parent === null ? undefined : scene.layout.cards.get(family.parent);
    if (!parent) continue;
    const [fromX, fromY] = [camera.x + (parent.x + parent.width) * camera.scale, camera.y + (parent.y + parent.height / 2) * camera.scale];
    const [toX, toY] = [camera.x + (family.x - 8) * camera.scale, camera.y + (family.y + family.height / 2) * camera.scale];
    if (Math.max(fromX, toX) < 0 || Math.min(fromX, toX) > size.width) continue;
    const isLit = scene.line !== null && scene.line.has(parent.id) && family.ids.some((id) => scene.line?.has(id));
    context.globalAlpha = scene.line === null || isLit ? 1 : 0.25;
    context.strokeStyle = isLit ? palette.accent : palette.line;
    context.lineWidth = isLit ? 2 : 1.25;
    context.beginPath();
    context.moveTo(fromX, fromY);
    const band = scene.layout.bands[family.position];
    if (band && family.x > band.x) {
      // Beside another family: over its head, not behind its pictures.
      const [edgeX, laneY] = [camera.x + (band.x - 8) * camera.scale, camera.y + (family.y - FAMILY_GAP / 2) * camera.scale];
      curve(context, fromX, fromY, edgeX, laneY);
      context.lineTo(toX, laneY);
      context.lineTo(toX, camera.y + family.y * camera.scale);
    } else curve(context, fromX, fromY, toX, toY);
    context.stroke();
    paintBracket(context, family, camera);
  }
  context.globalAlpha = 1;
}

function curve(context: CanvasRenderingContext2D, fromX: number, fromY: number, toX: number, toY: number) {
  const bend = Math.max(24, (toX - fromX) / 2);
  context.bezierCurveTo(fromX + bend, fromY, toX - bend, toY, toX, toY);
}

/** The children of one parent, held together. */
function paintBracket(context: CanvasRenderingContext2D, family: Family, camera: Camera) {
  const x = camera.x + (family.x - 8) * camera.scale;
  context.beginPath();
  context.moveTo(x, camera.y + family.y * camera.scale);
  context.lineTo(x, camera.y + (family.y + family.height) * camera.scale);
  context.stroke();
}

function paintCard(context: CanvasRenderingContext2D, scene: Scene, card: Card, camera: Camera, ratio: number, palette: Palette) {
  const side = card.width * camera.scale;
  const [x, y] = [camera.x + card.x * camera.scale, camera.y + card.y * camera.scale];
  const isDim = scene.line !== null && !scene.line.has(card.id);
  if (card.isBud) {
    context.globalAlpha = isDim ? 0.35 : 1;
    paintBud(context, scene.buds.get(card.id), x, y, side, palette);
    context.globalAlpha = 1;
    return;
  }
  const look = scene.looks.get(card.id);
  if (!look) return;
  context.globalAlpha = look.isRejected ? 0.22 : isDim ? 0.42 : look.isPassed ? 1 : 0.55;
  paintPicture(context, scene.thumbs, look, x, y, side, ratio, palette);
  if (look.isRejected && side >= 16) paintCross(context, x, y, side, palette);
  context.globalAlpha = isDim ? 0.4 : 1;
  if (look.isChosen && side >= 8) paintFrame(context, x, y, side, palette.accent, side > 40 ? 2.5 : 1.5);
  if (side >= WORDS_FROM && !look.isRejected) paintWords(context, look, x, y, side, palette);
  context.globalAlpha = 1;
  if (scene.hovered === card.id && scene.selected !== card.id) paintFrame(context, x, y, side, palette.text, 1.5);
  if (scene.selected === card.id) paintFrame(context, x, y, side, palette.text, 3);
}

function paintPicture(
  context: CanvasRenderingContext2D, thumbs: Thumbs, look: Look, x: number, y: number, side: number, ratio: number, palette: Palette,
) {
  const thumb = look.thumb === null ? undefined : thumbs.get(look.thumb);
  if (!thumb) {
    context.fillStyle = palette.card;
    context.fillRect(x, y, side, side);
    return;
  }
  const picture = side * ratio <= SMALL * 1.4 ? thumb.small : thumb.large;
  // Whole pictures tell more than squares: they are fitted in, not cut.
  const by = side / Math.max(picture.width, picture.height);
  const [width, height] = [picture.width * by, picture.height * by];
  if (width < side - 1 || height < side - 1) {
    context.fillStyle = palette.card;
    context.fillRect(x, y, side, side);
  }
  context.drawImage(picture, x + (side - width) / 2, y + (side - height) / 2, width, height);
}

function paintFrame(context: CanvasRenderingContext2D, x: number, y: number, side: number, color: string, width: number) {
  context.strokeStyle = color;
  context.lineWidth = width;
  context.strokeRect(x - width / 2, y - width / 2, side + width, side + width);
}

function paintCross(context: CanvasRenderingContext2D, x: number, y: number, side: number, palette: Palette) {
  context.strokeStyle = palette.bad;
  context.lineWidth = Math.max(1, side / 40);
  context.beginPath();
  context.moveTo(x + side * 0.2, y + side * 0.2);
  context.lineTo(x + side * 0.8, y + side * 0.8);
  context.moveTo(x + side * 0.8, y + side * 0.2);
  context.lineTo(x + side * 0.2, y + side * 0.8);
  context.stroke();
}

function paintWords(context: CanvasRenderingContext2D, look: Look, x: number, y: number, side: number, palette: Palette) {
  const font = Math.max(10, Math.min(13, side / 8));
  const text = [look.rank === null ? "" : `#${look.rank}`, look.elo === null ? "" : String(Math.round(look.elo))].join("  ").trim();
  if (!text) return;
  context.font = `600 ${font}px system-ui, sans-serif`;
  const width = context.measureText(text).width + font;
  context.fillStyle = palette.shade;
  context.fillRect(x, y + side - font * 1.7, width, font * 1.7);
  context.fillStyle = look.isChosen ? palette.accent : "#ffffff";
  context.textBaseline = "middle";
  context.textAlign = "left";
  context.fillText(text, x + font / 2, y + side - font * 0.8);
}

function paintBud(context: CanvasRenderingContext2D, bud: BudLook | undefined, x: number, y: number, side: number, palette: Palette) {
  context.strokeStyle = palette.line;
  context.lineWidth = 1.25;
  context.setLineDash(side > 24 ? [5, 4] : []);
  context.strokeRect(x + 0.5, y + 0.5, side - 1, side - 1);
  context.setLineDash([]);
  if (side < 18 || !bud?.isRunning) return;
  const [middleX, middleY, radius] = [x + side / 2, y + side / 2, side * 0.2];
  context.lineWidth = Math.max(2, side / 28);
  context.beginPath();
  context.arc(middleX, middleY, radius, 0, Math.PI * 2);
  context.stroke();
  context.strokeStyle = palette.accent;
  context.beginPath();
  context.arc(middleX, middleY, radius, -Math.PI / 2, -Math.PI / 2 + Math.PI * 2 * Math.max(0.04, bud.fraction ?? 0));
  context.stroke();
}

/** Above each band, at a size that can be read however far away one is. */
function paintNames(context: CanvasRenderingContext2D, scene: Scene, camera: Camera, palette: Palette) {
  context.font = "600 12px system-ui, sans-serif";
  context.textBaseline = "alphabetic";
  context.textAlign = "left";
  context.fillStyle = palette.quiet;
  scene.layout.bands.forEach((band, position) => {
    const next = scene.layout.bands[position + 1];
    const room = next ? (next.x - band.x) * camera.scale - 12 : Infinity;
    const name = shortened(context, scene.names[position] ?? "", room);
    const top = camera.y + (scene.layout.bounds.y + band.y) * camera.scale - 9;
    context.fillText(name, camera.x + band.x * camera.scale, Math.max(16, top));
  });
}

function shortened(context: CanvasRenderingContext2D, text: string, room: number): string {
  if (context.measureText(text).width <= room) return text;
  for (let length = text.length - 1; length > 1; length -= 1) {
    const cut = `${text.slice(0, length)}…`;
    if (context.measureText(cut).width <= room) return cut;
  }
  return "";
}
