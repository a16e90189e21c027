/** The tree of a run as pictures: wheel and fingers zoom, arrow keys walk from parent to child. */
import { ActionIcon, Tooltip, VisuallyHidden, useComputedColorScheme } from "@mantine/core";
import { IconFocusCentered, IconMinus, IconPlus } from "@tabler/icons-react";
import { useEffect, useEffectEvent, useId, useMemo, useRef, useState, type KeyboardEvent } from "react";
import { useConnection, useLive } from "@/app/live";
import type { BudView, LeafView, RunView } from "@/client";
import { looksOf, spoken } from "../looks";
import { layOut, lineOf, neighbour } from "./layout";
import type { BudLook } from "./paint";
import { Stage } from "./stage";
import { Thumbs } from "./thumbs";
import classes from "./TreeCanvas.module.css";

type Props = {
  run: RunView;
  leaves: LeafView[];
  buds: BudView[];
  selected: string | null;
  /** Where the selected one came from and what came of it stands out. */
  isTraced: boolean;
  select: (id: string | null) => void;
  open: (id: string) => void;
};
type Told = { job_id: string; data: { fraction?: number | null; waits?: boolean } };

export function TreeCanvas({ run, leaves, buds, selected, isTraced, select, open }: Props) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const stage = useRef<Stage | null>(null);
  const thumbs = useRef<Thumbs | null>(null);
  const progress = useRef(new Map<string, number>());
  const [hovered, hover] = useState<string | null>(null);
  const scheme = useComputedColorScheme("light");
  const connection = useConnection();
  const help = useId();
  const layout = useMemo(() => layOut(leaves, buds, run.steps.length), [leaves, buds, run.steps.length]);
  const looks = useMemo(() => looksOf(run, leaves), [run, leaves]);
  const line = useMemo(() => (isTraced && selected && looks.has(selected) ? lineOf(leaves, selected) : null), [leaves, looks, selected, isTraced]);
  const chosen = leaves.find((leaf) => leaf.id === selected);
  const heard = useEffectEvent((what: "select" | "open" | "hover", id: string | null) => {
    if (what === "hover") hover(id);
    else if (what === "select") select(id);
    else if (id) open(id);
  });
  useEffect(() => {
    const node = canvas.current;
    if (!node) return;
    const on = (what: "select" | "open" | "hover") => (id: string | null) => heard(what, id);
    const made = new Stage(node, { select: on("select"), open: on("open"), hover: on("hover") });
    const pictures = new Thumbs(() => {
      // For whoever waits until all of them are there.
      node.dataset.drawn = String(pictures.count);
      made.ask();
    });
    [stage.current, thumbs.current] = [made, pictures];
    return () => {
      made.close();
      pictures.close();
    };
  }, []);
  useEffect(() => {
    if (!stage.current || !thumbs.current) return;
    const names = run.steps.map((step) => `${step.position + 1}  ${step.name}`);
    const scene = { layout, looks, buds: budLooks(buds, progress.current), names, thumbs: thumbs.current, selected, hovered, line };
    stage.current.show(scene);
  }, [layout, looks, buds, run.steps, selected, hovered, line]);
  useEffect(() => {
    const urls = leaves.flatMap((leaf) => leaf.thumb_url ?? []);
    if (stage.current) thumbs.current?.want(urls, stage.current.urlsInSight);
  }, [leaves]);
  useEffect(() => {
    if (connection === "live") thumbs.current?.again();
  }, [connection]);
  useEffect(() => stage.current?.recolour(), [scheme]);
  useLive<Told>("progress", ({ job_id, data }) => {
    // Behind another one on its worker it does not run.
    if (data.waits || !buds.some((bud) => bud.job_id === job_id)) return;
    progress.current.set(job_id, data.fraction ?? 0);
    const names = run.steps.map((step) => `${step.position + 1}  ${step.name}`);
    if (thumbs.current) {
      stage.current?.show({ layout, looks, buds: budLooks(buds, progress.current), names, thumbs: thumbs.current, selected, hovered, line });
    }
  });

  function onKey(event: KeyboardEvent) {
    const { key } = event;
    if (key === "Enter" && selected) open(selected);
    else if (key === "+" || key === "=") stage.current?.zoom(1.25);
    else if (key === "-") stage.current?.zoom(0.8);
    else if (key === "0") stage.current?.fitAll();
    else if (key === "Escape") select(null);
    else if (key.startsWith("Arrow")) {
      const next = selected ? walk(selected, key) : (layout.families[0]?.ids[0] ?? null);
      if (next) {
        select(next);
        stage.current?.reveal(next);
      }
    } else return;
    event.preventDefault();
  }

  /** Over those that are still to come. */
  function walk(from: string, key: string): string | null {
    let next = neighbour(layout, from, key);
    while (next !== null && layout.cards.get(next)?.isBud) next = neighbour(layout, next, key);
    return next;
  }

  return (
    <div className={`${classes.frame} ${scheme === "dark" ? classes.dark : classes.light}`} data-testid="tree">
      <canvas
        ref={canvas}
        className={classes.canvas}
        data-over={hovered !== null}
        tabIndex={0}
        role="application"
        aria-label="Candidate tree"
        aria-describedby={help}
        onKeyDown={onKey}
      />
      <VisuallyHidden id={help}>
        Arrow keys go to parents, children and siblings; Enter opens; plus, minus and zero zoom. The same candidates are in the list beside it.
      </VisuallyHidden>
      <VisuallyHidden aria-live="polite">{chosen ? spoken(chosen, run.steps[chosen.position]?.name ?? "", looks.get(chosen.id)) : ""}</VisuallyHidden>
      <div className={classes.hint} aria-hidden>Wheel zooms · drag moves · arrows walk · Enter opens</div>
      <div className={classes.tools}>
        <Tool label="Zoom out" icon={<IconMinus size={16} />} act={() => stage.current?.zoom(0.7)} />
        <Tool label="Zoom in" icon={<IconPlus size={16} />} act={() => stage.current?.zoom(1.4)} />
        <Tool label="Show all" icon={<IconFocusCentered size={16} />} act={() => stage.current?.fitAll()} />
      </div>
    </div>
  );
}

function Tool({ label, icon, act }: { label: string; icon: React.ReactNode; act: () => void }) {
  return (
    <Tooltip label={label}>
      <ActionIcon variant="default" size="lg" aria-label={label} onClick={act}>{icon}</ActionIcon>
    </Tooltip>
  );
}

function budLooks(buds: BudView[], progress: Map<string, number>): Map<string, BudLook> {
  return new Map(buds.map((bud) => {
    const fraction = progress.get(bud.job_id) ?? null;
    return [bud.job_id, { isRunning: bud.status === "processing" || fraction !== null, fraction }];
  }));
}
