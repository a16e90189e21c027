import { ActionIcon, Button, Group, SegmentedControl, Text, Tooltip, useComputedColorScheme } from "@mantine/core";
import { IconPlayerTrackNext, IconZoomIn, IconZoomOut } from "@tabler/icons-react";
import { useNavigate } from "@tanstack/react-router";
import { useEffect, useEffectEvent, useRef, useState } from "react";
import type { Blocks, Found } from "./blocks";
import { colorOf, lookOf } from "./draw";
import { HoverCard } from "./HoverCard";
import { heightOf, Stage } from "./stage";
import { TimelineTable } from "./TimelineTable";
import classes from "./Timeline.module.css";
import { DAY_MS, spanOf, type Window } from "./window";

const HOUR_MS = 3_600_000;
const SPANS = [
  { value: String(HOUR_MS / 12), label: "5 min" }, { value: String(HOUR_MS), label: "1 h" },
  { value: String(6 * HOUR_MS), label: "6 h" }, { value: String(DAY_MS), label: "24 h" },
];
const FIRST_MS = HOUR_MS;

export function Timeline({ blocks, version, aheadMs }: { blocks: Blocks; version: number; aheadMs: number }) {
  const look = lookOf(useComputedColorScheme("light") === "dark");
  const scroller = useRef<HTMLDivElement>(null);
  const ground = useRef<HTMLDivElement>(null);
  const axis = useRef<HTMLCanvasElement>(null);
  const now = useRef<HTMLDivElement>(null);
  const mark = useRef<HTMLDivElement>(null);
  const stage = useRef<Stage | null>(null);
  const [card, setCard] = useState<{ found: Found; x: number; y: number } | null>(null);
  const [seen, setSeen] = useState<{ window: Window; follows: boolean } | null>(null);
  const navigate = useNavigate();
  const open = useEffectEvent((found: Found) => void navigate({ to: "/console/dispatches/$dispatchId", params: { dispatchId: found.dispatchId } }));
  const begin = useEffectEvent((frame: HTMLElement, paper: HTMLElement, parts: { axis: HTMLCanvasElement; now: HTMLElement; mark: HTMLElement }) => new Stage(frame, paper, parts, blocks, look, aheadMs, {
    hover: (found, x, y) => setCard(found && { found, x, y }),
    open,
    look: (window, follows) => setSeen({ window, follows }),
  }, FIRST_MS));

  useEffect(() => {
    if (!scroller.current || !ground.current || !axis.current || !now.current || !mark.current) return;
    const made = begin(scroller.current, ground.current, { axis: axis.current, now: now.current, mark: mark.current });
    stage.current = made;
    return () => made.close();
  }, []);
  useEffect(() => stage.current?.show(blocks, look), [blocks, look, version]);

  const span = seen ? String(Math.round(spanOf(seen.window))) : String(FIRST_MS);
  return (
    <>
      <Group justify="space-between" gap="sm">
        <Group gap="xs">
          <SegmentedControl size="xs" aria-label="Time" data={SPANS} value={SPANS.some((each) => each.value === span) ? span : ""} onChange={(value) => stage.current?.span(Number(value))} />
          <Tooltip label="Nearer (+)"><ActionIcon variant="default" aria-label="Nearer" onClick={() => stage.current?.nearer(1 / 1.5)}><IconZoomIn size={16} /></ActionIcon></Tooltip>
          <Tooltip label="Farther (−)"><ActionIcon variant="default" aria-label="Farther" onClick={() => stage.current?.nearer(1.5)}><IconZoomOut size={16} /></ActionIcon></Tooltip>
          {seen && !seen.follows && (
            <Button size="compact-sm" variant="light" leftSection={<IconPlayerTrackNext size={14} />} onClick={() => stage.current?.span(spanOf(seen.window))}>Back to now</Button>
          )}
        </Group>
        <Text size="xs" className="quiet" visibleFrom="sm">Drag to move, Ctrl and wheel to zoom, a click opens the job. Keys: ← → + − 0</Text>
      </Group>
      <div className={`surface ${classes.frame}`}>
        <div ref={scroller} className={classes.scroller} tabIndex={0} role="region" aria-label="Timeline of all workers; the table below says the same">
          <div ref={ground} className={classes.ground} style={{ height: heightOf(blocks.lanes.length) }} data-testid="ground">
            <canvas ref={axis} className={classes.axis} role="img" aria-label={`${blocks.lanes.length} workers, ${blocks.count} attempts`} />
            <div ref={now} className={classes.now} aria-hidden />
            <div ref={mark} className={classes.mark} aria-hidden hidden />
          </div>
        </div>
        {card && <HoverCard {...card} color={colorOf(look, blocks.workflow[card.found.index] ?? 0)} />}
      </div>
      <Group gap="md" component="ul" className={classes.legend} aria-label="Colours">
        {blocks.workflows.map((name, index) => (
          <li key={name}><span className={classes.chip} style={{ background: colorOf(look, index) }} /> {name}</li>
        ))}
        <li><span className={classes.chip} style={{ background: look.bad, width: 4 }} /> did not complete</li>
      </Group>
      {seen && <TimelineTable blocks={blocks} window={seen.window} />}
    </>
  );
}
