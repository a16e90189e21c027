/** What part of the time is seen. Pure. */

export type Window = { fromMs: number; toMs: number };

export const DAY_MS = 86_400_000;
export const SPAN_MS_MIN = 10_000;
/** Room for what comes next. */
const AHEAD = 0.02;

export const spanOf = (window: Window) => window.toMs - window.fromMs;

/** The last `spanMs`, up to a little after now. */
export function upToNow(spanMs: number, nowMs: number): Window {
  const toMs = nowMs + spanMs * AHEAD;
  return { fromMs: toMs - spanMs, toMs };
}

/** Nothing before a day ago, nothing long after now. */
export function clamp(window: Window, nowMs: number): Window {
  const span = Math.min(Math.max(spanOf(window), SPAN_MS_MIN), DAY_MS * (1 + AHEAD));
  const latest = nowMs + span * AHEAD;
  const earliest = nowMs - DAY_MS;
  let fromMs = window.fromMs;
  if (fromMs + span > latest) fromMs = latest - span;
  if (fromMs < earliest) fromMs = Math.min(earliest, latest - span);
  return { fromMs, toMs: fromMs + span };
}

/** `factor` below one: nearer. What is at `atMs` stays where it is. */
export function zoom(window: Window, factor: number, atMs: number, nowMs: number): Window {
  const span = Math.min(Math.max(spanOf(window) * factor, SPAN_MS_MIN), DAY_MS * (1 + AHEAD));
  const share = (atMs - window.fromMs) / spanOf(window);
  return clamp({ fromMs: atMs - span * share, toMs: atMs + span * (1 - share) }, nowMs);
}

export const pan = (window: Window, byMs: number, nowMs: number): Window =>
  clamp({ fromMs: window.fromMs + byMs, toMs: window.toMs + byMs }, nowMs);

/** Does the end of the window move with the clock? */
export const isAtNow = (window: Window, nowMs: number) => window.toMs >= nowMs;

const STEPS_MS = [1, 2, 5, 10, 30, 60, 120, 300, 600, 1_800, 3_600, 7_200, 10_800, 21_600].map((each) => each * 1_000);

/** Times to write on the axis: at most so many, at round times of the day. */
export function ticks(window: Window, most: number): number[] {
  const step = STEPS_MS.find((each) => spanOf(window) / each <= most) ?? DAY_MS / 2;
  const zone = new Date(window.fromMs).getTimezoneOffset() * 60_000;
  const first = Math.ceil((window.fromMs - zone) / step) * step + zone;
  return Array.from({ length: Math.max(0, Math.floor((window.toMs - first) / step) + 1) }, (_, index) => first + index * step);
}

export function clockText(ms: number, spanMs: number): string {
  const parts: Intl.DateTimeFormatOptions = { hour: "2-digit", minute: "2-digit", hour12: false };
  return new Date(ms).toLocaleTimeString("en-GB", spanMs < 600_000 ? { ...parts, second: "2-digit" } : parts);
}
