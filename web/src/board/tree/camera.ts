/** How the world is seen: what is moved and scaled by wheel, fingers and keys. Pure. */
import type { Rect } from "./layout";

export type Camera = { x: number; y: number; scale: number };
export type Size = { width: number; height: number };

export const SCALE_MAX = 3;
const MARGIN = 28;
// Below it are the hint and the buttons.
const FOOT = 54;

export function scaleMin(bounds: Rect, size: Size): number {
  return Math.min(0.5, fit(bounds, size).scale * 0.7);
}

/** Everything in sight, and never larger than it is. */
export function fit(bounds: Rect, size: Size): Camera {
  const [width, height] = [Math.max(1, size.width - 2 * MARGIN), Math.max(1, size.height - MARGIN - FOOT)];
  const scale = Math.min(2.2, width / bounds.width, height / bounds.height);
  return {
    scale,
    x: (size.width - bounds.width * scale) / 2 - bounds.x * scale,
    y: MARGIN + (height - bounds.height * scale) / 2 - bounds.y * scale,
  };
}

/** What is under the pointer stays under it. */
export function zoomAt(camera: Camera, factor: number, at: { x: number; y: number }, least: number): Camera {
  const scale = Math.min(SCALE_MAX, Math.max(least, camera.scale * factor));
  const by = scale / camera.scale;
  return { scale, x: at.x - (at.x - camera.x) * by, y: at.y - (at.y - camera.y) * by };
}

export function pan(camera: Camera, dx: number, dy: number): Camera {
  return { ...camera, x: camera.x + dx, y: camera.y + dy };
}

/** Some of it stays in sight, wherever one goes. */
export function kept(camera: Camera, bounds: Rect, size: Size): Camera {
  const [width, height] = [bounds.width * camera.scale, bounds.height * camera.scale];
  const keep = 80;
  return {
    ...camera,
    x: Math.min(size.width - keep, Math.max(keep - width, camera.x)),
    y: Math.min(size.height - keep, Math.max(keep - height, camera.y)),
  };
}

export function toWorld(camera: Camera, at: { x: number; y: number }): { x: number; y: number } {
  return { x: (at.x - camera.x) / camera.scale, y: (at.y - camera.y) / camera.scale };
}

/** Far enough to see this card whole, near enough to see what it is. */
export function showing(camera: Camera, card: Rect, size: Size): Camera {
  const left = camera.x + card.x * camera.scale;
  const top = camera.y + card.y * camera.scale;
  const side = card.width * camera.scale;
  const isSeen = left >= 0 && top >= 0 && left + side <= size.width && top + side <= size.height;
  if (isSeen && side >= 40) return camera;
  const scale = Math.max(camera.scale, 0.6);
  return {
    scale,
    x: size.width / 2 - (card.x + card.width / 2) * scale,
    y: size.height / 2 - (card.y + card.height / 2) * scale,
  };
}

export function isInSight(camera: Camera, rect: Rect, size: Size): boolean {
  const [left, top] = [camera.x + rect.x * camera.scale, camera.y + rect.y * camera.scale];
  return left < size.width && top < size.height && left + rect.width * camera.scale > 0 && top + rect.height * camera.scale > 0;
}
