/** One candidate: large, where it came from, how it was made, and what can be done with it. */
import { Anchor, Badge, Button, Drawer, Group, Stack, Text, Title } from "@mantine/core";
import { IconDownload } from "@tabler/icons-react";
import { useMutation, useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useMemo } from "react";
import { queries } from "@/app/queries";
import { rejectCandidate, retryJob, type LeafView, type RunView } from "@/client";
import { ConfirmAction, tellDone } from "@/parts/ConfirmAction";
import { Loading } from "@/parts/Loading";
import { Problem } from "@/parts/Problem";
import { OrderProblem } from "@/studio/effect/OrderProblem";
import { candidateQuery, refreshTree, runQuery } from "../data";
import { isAlive, looksOf, votesIn } from "../looks";
import { Thumb } from "../parts/Thumb";
import { lineOf } from "../tree/layout";
import { Making } from "./Making";
import classes from "./CandidateDrawer.module.css";

export function CandidateDrawer({ run, leaves, id, open }: { run: RunView; leaves: LeafView[]; id: string | null; open: (id: string | null) => void }) {
  const leaf = leaves.find((each) => each.id === id);
  const title = leaf ? (run.steps[leaf.position]?.name ?? "Candidate") : "Candidate";
  return (
    <Drawer opened={id !== null} onClose={() => open(null)} position="right" size="lg" title={title}>
      {leaf && <Opened key={leaf.id} run={run} leaves={leaves} leaf={leaf} open={open} />}
    </Drawer>
  );
}

function Opened({ run, leaves, leaf, open }: { run: RunView; leaves: LeafView[]; leaf: LeafView; open: (id: string | null) => void }) {
  const candidate = useQuery(candidateQuery(leaf.id));
  const look = useMemo(() => looksOf(run, leaves).get(leaf.id), [run, leaves, leaf.id]);
  const parents = useMemo(() => parentsOf(leaves, leaf), [leaves, leaf]);
  const children = useMemo(() => leaves.filter((each) => each.parent_id === leaf.id), [leaves, leaf.id]);
  const below = useMemo(() => lineOf(leaves, leaf.id).size - parents.length - 1, [leaves, leaf.id, parents]);
  return (
    <Stack gap="lg">
      {candidate.isPending && <Loading h={360} />}
      {candidate.isError && !candidate.data && <Problem problem={candidate.error} again={() => void candidate.refetch()} />}
      {candidate.data && (candidate.data.url
        ? <img className={classes.picture} src={candidate.data.url} alt={`Candidate of ${run.steps[leaf.position]?.name ?? "this run"}`} />
        : <Text className="quiet">The picture is gone: it was deleted for its age.</Text>)}
      <Group gap="xs">
        {look?.rank && <Badge color="sun" variant="filled" tt="none">Number {look.rank}</Badge>}
        {!isAlive(leaf) && <Badge color="red" variant="light" tt="none">rejected</Badge>}
        {look?.isChosen && look.rank === null && <Badge color="sun" variant="light" tt="none">goes on</Badge>}
        {isAlive(leaf) && !leaf.is_passed && <Badge color="gray" variant="light" tt="none">passed over by the scorer</Badge>}
      </Group>
      <dl className={`${classes.facts} numbers`}>
        <dt>Elo</dt><dd>{leaf.votes === 0 ? "no votes yet" : `${Math.round(leaf.elo)}, from ${votesIn(leaf.votes)}`}</dd>
        {Object.entries(leaf.scores).map(([name, value]) => [<dt key={name}>{name}</dt>, <dd key={`${name}=`}>{value.toLocaleString("en", { maximumFractionDigits: 2 })}</dd>])}
        {leaf.seed !== null && <><dt>Seed</dt><dd>{leaf.seed}</dd></>}
        {candidate.data && <><dt>File</dt><dd>{candidate.data.name}</dd></>}
      </dl>
      <Group gap="xs">
        {candidate.data?.url && (
          <Button component="a" href={candidate.data.url} download={candidate.data.name.split("/").at(-1)} variant="default" leftSection={<IconDownload size={16} />}>Download</Button>
        )}
        <Replay leaf={leaf} />
        {isAlive(leaf) && run.status !== "stopped" && <Reject run={run} leaf={leaf} below={below} />}
      </Group>
      {parents.length > 0 && <Kin title="Made from" leaves={parents} run={run} open={open} />}
      {children.length > 0 && <Kin title={`Made of it: ${children.length}`} leaves={children} run={run} open={open} />}
      <Making id={leaf.id} />
    </Stack>
  );
}

function Kin({ title, leaves, run, open }: { title: string; leaves: LeafView[]; run: RunView; open: (id: string) => void }) {
  return (
    <div>
      <Title order={3} size="h5" mb={6}>{title}</Title>
      <div className={classes.row}>
        {leaves.slice(0, 24).map((each) => (
          <button key={each.id} type="button" className={classes.kin} onClick={() => open(each.id)} aria-label={`${run.steps[each.position]?.name}, Elo ${Math.round(each.elo)}`}>
            <Thumb url={each.thumb_url} alt="" side={72} dim={!isAlive(each)} />
          </button>
        ))}
      </div>
    </div>
  );
}

/** The same graph and the same seed, as a job of its own. */
function Replay({ leaf }: { leaf: LeafView }) {
  const replay = useMutation({ mutationFn: async () => (await retryJob({ path: { job_id: leaf.job_id }, body: {}, throwOnError: true })).data });
  if (replay.data) return <Text size="sm">Being made again: <Anchor component={Link} to={`/jobs/${replay.data.id}`}>see the job</Anchor></Text>;
  return (
    <>
      <Button variant="default" loading={replay.isPending} onClick={() => replay.mutate()}>Replay</Button>
      {replay.isError && <OrderProblem problem={replay.error} again={() => replay.mutate()} />}
    </>
  );
}

function Reject({ run, leaf, below }: { run: RunView; leaf: LeafView; below: number }) {
  return (
    <ConfirmAction
      label="Reject"
      color="red"
      variant="light"
      question="Reject this candidate?"
      text={below > 0 ? `It goes, and with it the ${below} made of it. What waits below it is cancelled and refunded. This cannot be taken back.` : "It gets no children and leaves the ranking. This cannot be taken back."}
      act={async () => {
        const { data } = await rejectCandidate({ path: { candidate_id: leaf.id }, throwOnError: true });
        refreshTree(run.id);
        void queries.invalidateQueries({ queryKey: runQuery(run.id).queryKey, exact: true });
        if (data.gone > 1) tellDone(`${data.gone} in all.`);
      }}
      done="Rejected."
    />
  );
}

function parentsOf(leaves: LeafView[], leaf: LeafView): LeafView[] {
  const known = new Map(leaves.map((each) => [each.id, each]));
  const line: LeafView[] = [];
  for (let at = leaf.parent_id && known.get(leaf.parent_id); at && line.length < 50; at = at.parent_id ? known.get(at.parent_id) : undefined) line.push(at);
  return line;
}
