/** Which of the two? Two keys, and the next pair is there already. */
import { Button, Group, Kbd, Skeleton, Text, VisuallyHidden } from "@mantine/core";
import { IconArrowBackUp, IconScale } from "@tabler/icons-react";
import { Link, useParams, useSearch } from "@tanstack/react-router";
import { useEffect, useMemo, useState, useSyncExternalStore } from "react";
import { castVote, getPair, type CandidateView, type RunView } from "@/client";
import { EmptyState } from "@/parts/EmptyState";
import { Loading } from "@/parts/Loading";
import { NotYet } from "@/parts/NotYet";
import { PageHead } from "@/parts/PageHead";
import { Problem } from "@/parts/Problem";
import { useRun } from "../data";
import { votesIn } from "../looks";
import { BackLink } from "@/parts/BackLink";
import { Ballot, tally, type Cast, type Pair, type State } from "./ballot";
import classes from "./VotePage.module.css";

export function VotePage() {
  const { runId = "" } = useParams({ strict: false });
  const { step } = useSearch({ strict: false });
  const { run } = useRun(runId);
  if (!run.data) return <><PageHead title="Compare" /><NotYet of={run} h={480} /></>;
  const position = Math.min(Math.max(0, (step ?? 1) - 1), run.data.steps.length - 1);
  return <Table key={`${runId} ${position}`} run={run.data} position={position} />;
}

function Table({ run, position }: { run: RunView; position: number }) {
  const ballot = useMemo(() => new Ballot(wireOf(run.id, position)), [run.id, position]);
  const state = useSyncExternalStore(ballot.watch, ballot.read);
  const [before] = useState(run.steps[position]?.votes ?? 0);
  useEffect(() => {
    void ballot.begin();
    const leave = () => ballot.close();
    window.addEventListener("pagehide", leave);
    return () => {
      window.removeEventListener("pagehide", leave);
      ballot.close();
    };
  }, [ballot]);
  useKeys(ballot);
  const name = run.steps[position]?.name ?? "";
  return (
    <>
      <BackLink to={`/runs/${run.id}`}>{run.name}</BackLink>
      <PageHead title={`${name}: which is better?`} text={counted(run, position, state, before)}>
        <Button variant="default" leftSection={<IconArrowBackUp size={16} />} disabled={!state.held} onClick={() => ballot.undo()}>Undo</Button>
        <Button variant="default" disabled={!state.pair} onClick={() => ballot.skip()}>Skip</Button>
      </PageHead>
      {(state.problem ?? state.sendProblem) !== null && (
        <Problem problem={state.problem ?? state.sendProblem} again={state.problem !== null || state.unsent > 0 ? () => ballot.again() : undefined}>
          {state.unsent > 0 && <Text size="sm">{state.unsent === 1 ? "One vote is" : `${state.unsent} votes are`} not sent yet.</Text>}
        </Problem>
      )}
      {state.pair === null && !state.isLoading && state.problem === null && (
        <EmptyState icon={IconScale} title="There are no two to compare" text="Come back when this step has made more.">
          <Button component={Link} to={`/runs/${run.id}`} variant="default">Back to the run</Button>
        </EmptyState>
      )}
      {state.pair === null && state.isLoading && <Loading className={classes.table}><Skeleton h="100%" /><Skeleton h="100%" /></Loading>}
      {state.pair && (
        <div className={classes.table} data-testid="pair">
          {state.pair.map((candidate, side) => (
            <Choice key={candidate.id} candidate={candidate} side={side as 0 | 1} choose={() => ballot.vote(side as 0 | 1)} />
          ))}
        </div>
      )}
      <div className={classes.keys} aria-hidden>
        <Text size="sm" className="quiet"><Kbd>←</Kbd> left</Text>
        <Text size="sm" className="quiet"><Kbd>→</Kbd> right</Text>
        <Text size="sm" className="quiet"><Kbd>S</Kbd> skip</Text>
        <Text size="sm" className="quiet"><Kbd>U</Kbd> undo</Text>
      </div>
    </>
  );
}

function Choice({ candidate, side, choose }: { candidate: CandidateView; side: 0 | 1; choose: () => void }) {
  return (
    <button type="button" className={classes.choice} onClick={choose} data-candidate={candidate.id}>
      {candidate.url ? <img className={classes.picture} src={candidate.url} alt="" /> : <Text className="quiet" m="auto">Its picture is gone</Text>}
      <span className={classes.words}>
        <Text component="span" size="sm" fw={600}>{side === 0 ? "Left" : "Right"}<VisuallyHidden> is better,</VisuallyHidden></Text>
        <Group gap="xs" component="span"><Text component="span" size="xs" className="quiet numbers">{votesIn(candidate.votes)}</Text></Group>
      </span>
    </button>
  );
}

function useKeys(ballot: Ballot) {
  useEffect(() => {
    function onKey(event: KeyboardEvent) {
      if (event.repeat || event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
      const key = event.key.toLowerCase();
      if (key === "arrowleft") ballot.vote(0);
      else if (key === "arrowright") ballot.vote(1);
      else if (key === "s" || key === "arrowdown") ballot.skip();
      else if (key === "u" || key === "backspace") ballot.undo();
      else return;
      event.preventDefault();
    }
    window.addEventListener("keydown", onKey);
    return () => window.removeEventListener("keydown", onKey);
  }, [ballot]);
}

const isTyping = (target: EventTarget | null) => target instanceof HTMLElement && target.matches("input, textarea, select, [contenteditable=true]");

function counted(run: RunView, position: number, state: State, before: number): string {
  const step = run.steps[position];
  if (!step) return "";
  const { kind, after } = run.approval;
  const { mine, inAll } = tally(state, { before, known: step.votes });
  const all = `${votesIn(inAll)} in all`;
  if (kind === "votes" && after && step.top === null) return `${all}; the gate opens at ${after}. ${mine} just now.`;
  return `${all}, ${mine} just now.`;
}

function wireOf(runId: string, position: number) {
  // Held until the next ones come: a browser forgets a picture that nobody holds, and would fetch it again.
  const pictures: HTMLImageElement[] = [];
  return {
    next: async (beside: string[]): Promise<Pair | null> => {
      const { data } = await getPair({ path: { run_id: runId }, query: { position, beside }, throwOnError: true });
      const [one, other] = data.pair;
      return one && other ? [one, other] : null;
    },
    send: async (cast: Cast): Promise<void> => {
      const body = { winner_id: cast.winner.id, loser_id: cast.loser.id, idempotency_key: cast.key };
      await castVote({ body, throwOnError: true, keepalive: true });
    },
    preload: (pair: Pair): void => {
      pictures.splice(0, pictures.length, ...pair.flatMap(({ url }) => (url ? [pictureOf(url)] : [])));
    },
  };
}

function pictureOf(url: string): HTMLImageElement {
  const picture = new Image();
  picture.src = url;
  return picture;
}
