import { Text } from "@mantine/core";
import { useState } from "react";
import type { EndsView } from "@/client";
import { numberText } from "../parts/numbers";
import classes from "./Bars.module.css";

const TALL = 150;

/** Completed below, failed on top of it. */
export function Bars({ ends }: { ends: EndsView }) {
  const [hovered, setHovered] = useState<number | null>(null);
  const both = ends.completed.map((done, index) => done + (ends.failed[index] ?? 0));
  const most = Math.max(1, ...both);
  const clock = (index: number) =>
    new Date(new Date(ends.begins_at).getTime() + index * ends.stretch_s * 1000).toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" });
  const [done, failed] = [ends.completed, ends.failed].map((each) => each.reduce((sum, number) => sum + number, 0));
  const label = `${numberText(done ?? 0)} completed, ${numberText(failed ?? 0)} failed; at most ${most} in a stretch`;
  const shown = hovered === null ? null : `${clock(hovered)}: ${ends.completed[hovered]} completed, ${ends.failed[hovered]} failed`;
  return (
    <div>
      <svg className={classes.bars} viewBox={`0 0 ${both.length * 10} ${TALL}`} preserveAspectRatio="none" role="img" aria-label={label} onMouseLeave={() => setHovered(null)}>
        {both.map((all, index) => {
          const [tall, good] = [(all / most) * TALL, ((ends.completed[index] ?? 0) / most) * TALL];
          return (
            <g key={index} onMouseEnter={() => setHovered(index)}>
              <rect className={classes.hit} x={index * 10} y={0} width={10} height={TALL} data-on={hovered === index || undefined} />
              <rect className={classes.bad} x={index * 10 + 1} y={TALL - tall} width={8} height={tall - good} />
              <rect className={classes.good} x={index * 10 + 1} y={TALL - good} width={8} height={good} />
            </g>
          );
        })}
      </svg>
      <div className={classes.axis}>
        <Text size="xs">{clock(0)}</Text>
        <Text size="xs" className="numbers">{shown ?? `most: ${numberText(most)}`}</Text>
        <Text size="xs">now</Text>
      </div>
    </div>
  );
}
