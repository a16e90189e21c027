/** One step: its gate, its votes, and its candidates as a list; the tree for those who do not see it. */
import { Button, SegmentedControl, Stack, Text, Title, VisuallyHidden } from "@mantine/core";
import { IconArrowsLeftRight } from "@tabler/icons-react";
import { Link } from "@tanstack/react-router";
import { useMemo } from "react";
import type { BudView, LeafView, RunView } from "@/client";
import { isAlive, looksOf, ranked, votesIn } from "../looks";
import { Thumb } from "../parts/Thumb";
import { Gate } from "./Gate";
import classes from "./StepPanel.module.css";

const LISTED = 300;

export function StepPanel({ run, leaves, buds, position, choose, open }: {
  run: RunView; leaves: LeafView[]; buds: BudView[]; position: number; choose: (position: number) => void; open: (id: string) => void;
}) {
  const step = run.steps[position];
  const looks = useMemo(() => looksOf(run, leaves), [run, leaves]);
  const listed = useMemo(() => ranked(leaves, position), [leaves, position]);
  if (!step) return null;
  const underWay = buds.filter((bud) => bud.position === position).length;
  return (
    <Stack gap="md">
      {run.steps.length > 1 && (
        <div className={classes.steps}>
          <SegmentedControl
            fullWidth
            size="xs"
            aria-label="Step"
            data={run.steps.map((each) => ({ value: String(each.position), label: each.name }))}
            value={String(position)}
            onChange={(value) => choose(Number(value))}
          />
        </div>
      )}
      <div>
        <Title order={2} size="h4">{step.name}</Title>
        <Text size="sm" className="quiet numbers">{counted(step.alive, step.made, underWay, step.failures)}</Text>
      </div>
      {position < run.steps.length - 1 && <Gate key={`${step.position} ${step.top}`} run={run} step={step} />}
      {step.alive >= 2 && (
        <Button
          renderRoot={(props) => <Link to="/runs/$runId/vote" params={{ runId: run.id }} search={{ step: position + 1 }} {...props} />}
          variant="default"
          leftSection={<IconArrowsLeftRight size={16} />}
        >
          Compare{step.votes > 0 ? ` · ${votesIn(step.votes)} so far` : ""}
        </Button>
      )}
      <ol className={classes.list} aria-label={`Candidates of ${step.name}, the best first`}>
        {listed.slice(0, LISTED).map((leaf, index) => (
          <li key={leaf.id}>
            <button type="button" className={classes.item} data-chosen={looks.get(leaf.id)?.isChosen} onClick={() => open(leaf.id)}>
              <Thumb url={leaf.thumb_url} alt="" dim={!isAlive(leaf)} />
              <span className={`${classes.words} numbers`}><span>{isAlive(leaf) ? `#${index + 1}` : "out"}<VisuallyHidden>{described(leaf, looks.get(leaf.id)?.isChosen ?? false)}</VisuallyHidden></span><span className="quiet">{leaf.votes > 0 ? Math.round(leaf.elo) : ""}</span></span>
            </button>
          </li>
        ))}
      </ol>
      {listed.length > LISTED && <Text size="sm" className="quiet">The best {LISTED} of {listed.length}; all are in the tree.</Text>}
      {listed.length === 0 && <Text size="sm" className="quiet">{underWay > 0 ? "The first ones are being made." : "Nothing of this step yet."}</Text>}
    </Stack>
  );
}

function counted(alive: number, made: number, underWay: number, failures: number): string {
  const words = [`${alive} ${alive === 1 ? "candidate" : "candidates"}`];
  if (made > alive) words.push(`${made - alive} rejected`);
  if (underWay > 0) words.push(`${underWay} under way`);
  if (failures > 0) words.push(`${failures} failed`);
  return words.join(" · ");
}

function described(leaf: LeafView, isChosen: boolean): string {
  return `${isChosen ? ", goes on" : ""}${leaf.votes > 0 ? `, ${votesIn(leaf.votes)}, Elo` : ""}`;
}
