/** How long something takes or took, in words. The only place that says it; in Python the same is `kernel/durations.py`. */

/** 12 s, 4.2 s, 5 min, 1.5 h, 3 days. */
export function secondsText(seconds: number): string {
  if (seconds > 0 && seconds < 0.05) return "under 0.1 s";
  if (seconds < 119.5) return `${rounded(seconds)} s`;
  if (seconds < 7_170) return `${rounded(seconds / 60)} min`;
  if (seconds < 127_800) return `${rounded(seconds / 3_600)} h`;
  const days = rounded(seconds / 86_400);
  return days === "1" ? "1 day" : `${days} days`;
}

/** An estimate. */
export const durationText = (seconds: number) => (seconds < 1 ? "under a second" : `about ${secondsText(Math.round(seconds))}`);

/** Below ten with one decimal, unless that is none. */
const rounded = (amount: number) => (amount < 9.95 ? String(Number(amount.toFixed(1))) : String(Math.round(amount)));
