import { Text } from "@mantine/core";
import { useState } from "react";
import type { DecisionView } from "@/client";
import { mostOf, stepsOf, type Step } from "./steps";
import classes from "./ScalingChart.module.css";

const [WIDE, TALL] = [1_000, 150];
const STACKED = ["ready", "starting", "draining"] as const;

/** Machines over time, one on the other, and the line of those that should be there. */
export function ScalingChart({ decisions, now, span }: { decisions: DecisionView[]; now: number; span: number }) {
  const [hovered, setHovered] = useState<number | null>(null);
  const begins = now - span;
  const steps = stepsOf(decisions, begins, now);
  const most = mostOf(steps);
  const [x, y] = [(at: number) => ((at - begins) / span) * WIDE, (count: number) => TALL - (count / most) * (TALL - 4)];
  const clock = (at: number) => new Date(at).toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit", second: span < 3_600_000 ? "2-digit" : undefined });
  const shown = hovered === null ? undefined : steps[hovered];
  const last = steps.at(-1);
  const line = steps.map((each, index) => `${index ? "L" : "M"}${x(each.from)} ${y(each.desired)} H${x(each.until)}`).join(" ");
  return (
    <div>
      <ul className={classes.legend}>
        {[...STACKED, "desired"].map((each) => <li key={each}><span className={classes.swatch} data-of={each} />{each}</li>)}
      </ul>
      <svg className={classes.chart} viewBox={`0 0 ${WIDE} ${TALL}`} preserveAspectRatio="none" role="img" onMouseLeave={() => setHovered(null)}
        aria-label={last ? `Machines over time: at most ${most}; now ${wordsOf(last)}` : "Machines over time: none"}>
        {steps.map((each, index) => (
          <g key={each.from} onMouseEnter={() => setHovered(index)}>
            <rect className={classes.hit} x={x(each.from)} y={0} width={x(each.until) - x(each.from)} height={TALL} data-on={hovered === index || undefined} />
            {STACKED.map((name, place) => {
              const below = STACKED.slice(0, place).reduce((sum, other) => sum + each[other], 0);
              return each[name] > 0 && (
                <rect key={name} className={`${classes.shape} ${classes[name]}`} x={x(each.from)} y={y(below + each[name])}
                  width={x(each.until) - x(each.from)} height={y(below) - y(below + each[name])} />
              );
            })}
          </g>
        ))}
        <path className={`${classes.shape} ${classes.desired}`} d={line} />
      </svg>
      <div className={classes.axis}>
        <Text size="xs">{clock(begins)}</Text>
        <Text size="xs" className="numbers">{shown ? `${clock(shown.from)}: ${wordsOf(shown)}` : `most: ${most}`}</Text>
        <Text size="xs">now</Text>
      </div>
    </div>
  );
}

const wordsOf = (step: Step) => `${step.desired} desired, ${step.ready} ready, ${step.starting} starting, ${step.draining} draining, ${step.waiting} jobs waiting`;
