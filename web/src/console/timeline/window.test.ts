import { describe, expect, it } from "vitest";
import { clamp, DAY_MS, isAtNow, pan, SPAN_MS_MIN, spanOf, ticks, upToNow, zoom } from "./window";

const NOW = 1_790_000_000_000;

describe("the window of the timeline", () => {
  it("keeps what is under the pointer where it is", () => {
    const before = { fromMs: NOW - 3_600_000, toMs: NOW - 1_800_000 };
    const at = NOW - 2_700_000;
    const after = zoom(before, 0.5, at, NOW);
    expect(spanOf(after)).toBe(900_000);
    expect((at - after.fromMs) / spanOf(after)).toBeCloseTo((at - before.fromMs) / spanOf(before));
  });
  it("ends a little after now and begins a day ago", () => {
    expect(pan(upToNow(60_000, NOW), 10 * DAY_MS, NOW)).toEqual(upToNow(60_000, NOW));
    expect(pan(upToNow(60_000, NOW), -10 * DAY_MS, NOW).fromMs).toBe(NOW - DAY_MS);
    expect(spanOf(zoom(upToNow(60_000, NOW), 1e-9, NOW, NOW))).toBe(SPAN_MS_MIN);
    expect(spanOf(clamp({ fromMs: 0, toMs: NOW * 2 }, NOW))).toBeLessThanOrEqual(DAY_MS * 1.02);
  });
  it("follows the clock only while now is seen", () => {
    expect(isAtNow(upToNow(60_000, NOW), NOW)).toBe(true);
    expect(isAtNow(pan(upToNow(60_000, NOW), -30_000, NOW), NOW)).toBe(false);
  });
  it.each([SPAN_MS_MIN, 60_000, 3_600_000, DAY_MS])("writes few times on the axis (%d)", (span) => {
    const found = ticks(upToNow(span, NOW), 10);
    expect(found.length).toBeGreaterThan(1);
    expect(found.length).toBeLessThanOrEqual(11);
  });
});
