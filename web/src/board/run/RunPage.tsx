/** One run: its tree of pictures, its gates, its budget. */
import { Group, Text } from "@mantine/core";
import { IconPhoto } from "@tabler/icons-react";
import { useParams } from "@tanstack/react-router";
import { useState } from "react";
import type { RunView } from "@/client";
import { EmptyState } from "@/parts/EmptyState";
import { Loading } from "@/parts/Loading";
import { NotYet } from "@/parts/NotYet";
import { PageHead } from "@/parts/PageHead";
import { Problem } from "@/parts/Problem";
import { StatusBadge } from "@/parts/StatusBadge";
import { BudgetMeters, RunProgress } from "../Budget";
import { useRun, type Tree } from "../data";
import { closedGate, isOutOfTokens, standing } from "../looks";
import { BackLink } from "@/parts/BackLink";
import { TreeCanvas } from "../tree/TreeCanvas";
import { CandidateDrawer } from "./CandidateDrawer";
import { MoreTokens } from "./MoreTokens";
import { RunActions } from "./RunActions";
import { StepPanel } from "./StepPanel";
import classes from "./RunPage.module.css";

export function RunPage() {
  const { runId = "" } = useParams({ strict: false });
  const { run, tree } = useRun(runId);
  if (!run.data) return <><PageHead title="Run" /><NotYet of={run} h={520} /></>;
  return <Opened key={runId} run={run.data} tree={tree.data} problem={tree.isError ? tree.error : null} />;
}

function Opened({ run, tree, problem }: { run: RunView; tree: Tree | undefined; problem: unknown }) {
  const [selected, setSelected] = useState<string | null>(null);
  const [isTraced, trace] = useState(false);
  const [opened, open] = useState<string | null>(null);
  const [chosen, choose] = useState<number | null>(null);
  const select = (id: string | null) => {
    setSelected(id);
    trace(id !== null);
  };
  const show = (id: string | null) => {
    open(id);
    // Whoever closes it looks at the whole again. The arrow keys go on from where they were.
    if (id === null) trace(false);
    else select(id);
  };
  const furthest = [...run.steps].reverse().find((step) => step.made > 0)?.position ?? 0;
  const position = chosen ?? closedGate(run)?.position ?? furthest;
  const leaves = tree?.leaves ?? [];
  const isEmpty = tree !== undefined && leaves.length === 0 && tree.buds.length === 0;
  return (
    <>
      <BackLink to="/runs">All runs</BackLink>
      <PageHead
        title={run.name}
        text={<Group gap="xs" component="span"><StatusBadge status={run.status} /><Text component="span" inherit data-testid="standing">{standing(run)}</Text></Group>}
      >
        <RunActions run={run} />
      </PageHead>
      {isOutOfTokens(run) && <MoreTokens />}
      <div className={classes.meters}><RunProgress run={run} /><BudgetMeters run={run} /></div>
      {problem !== null && <Problem problem={problem} />}
      <div className={classes.page}>
        <section className={classes.tree} aria-label="Tree">
          {tree === undefined ? <Loading h="100%" /> : isEmpty ? (
            <div className={`surface ${classes.empty}`}><EmptyState icon={IconPhoto} title="Nothing yet" text="The first pictures appear here as they are made." /></div>
          ) : (
            <TreeCanvas run={run} leaves={leaves} buds={tree.buds} selected={selected} isTraced={isTraced} select={select} open={show} />
          )}
        </section>
        <aside className={`surface ${classes.side}`} aria-label="Steps and candidates">
          <StepPanel run={run} leaves={leaves} buds={tree?.buds ?? []} position={position} choose={choose} open={show} />
        </aside>
      </div>
      <CandidateDrawer run={run} leaves={leaves} id={opened} open={show} />
    </>
  );
}
