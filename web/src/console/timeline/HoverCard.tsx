import { secondsText } from "@/parts/times";
import type { Found } from "./blocks";
import { endText } from "../parts/numbers";
import classes from "./Timeline.module.css";
import { clockText } from "./window";

const WIDE = 250;

export function HoverCard({ found, x, y, color }: { found: Found; x: number; y: number; color: string }) {
  const place = { left: `clamp(8px, ${x - WIDE / 2}px, calc(100% - ${WIDE + 8}px))`, ...(y > 190 ? { bottom: `calc(100% - ${y - 14}px)` } : { top: y + 18 }) };
  return (
    <div className={classes.card} style={place} aria-hidden>
      <strong><span className={classes.chip} style={{ background: color, marginInlineEnd: 6 }} />{found.workflow}</strong>
      <dl className="numbers">
        <dt>Worker</dt><dd>{found.worker}</dd>
        <dt>{found.endMs === null ? "Since" : "From"}</dt><dd>{clockText(found.startMs, 0)}</dd>
        {found.endMs !== null && <><dt>To</dt><dd>{clockText(found.endMs, 0)}</dd><dt>Took</dt><dd>{secondsText((found.endMs - found.startMs) / 1000)}</dd></>}
        <dt>Outcome</dt><dd>{found.outcome === null ? "runs" : endText(found.outcome)}</dd>
      </dl>
    </div>
  );
}
