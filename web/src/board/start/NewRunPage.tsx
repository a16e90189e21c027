import { Alert, Skeleton } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useSearch } from "@tanstack/react-router";
import { useState } from "react";
import { EmptyState } from "@/parts/EmptyState";
import { PageHead } from "@/parts/PageHead";
import { Problem } from "@/parts/Problem";
import { IconRoute } from "@tabler/icons-react";
import { effectsQuery, pipelinesQuery } from "../data";
import { RunForm } from "./RunForm";

export function NewRunPage() {
  const { pipeline: wished } = useSearch({ strict: false });
  const pipelines = useQuery(pipelinesQuery);
  const effects = useQuery(effectsQuery);
  const [chosen, choose] = useState<string | null>(wished ?? null);
  const problem = pipelines.error ?? effects.error;
  if (problem) return <><PageHead title="New run" /><Problem problem={problem} /></>;
  if (!pipelines.data || !effects.data) return <><PageHead title="New run" /><Skeleton h={420} maw={760} /></>;
  const alive = pipelines.data.filter((each) => each.archived_at === null);
  const pipeline = alive.find((each) => each.slug === (chosen ?? alive[0]?.slug));
  return (
    <>
      <PageHead title="New run" text="It begins at once; every picture is paid for as it is begun." />
      {wished && !pipeline && <Alert color="orange" mb="md">There is no pipeline “{wished}” any more. Choose another one.</Alert>}
      {alive.length === 0 && (
        <EmptyState icon={IconRoute} title="No pipelines yet" text="Apply one from a terminal: comfyfleet pipelines apply pipeline.yaml" />
      )}
      {(pipeline ?? alive[0]) && (
        <RunForm key={(pipeline ?? alive[0])?.id} pipelines={alive} pipeline={(pipeline ?? alive[0])!} effects={effects.data} choose={choose} />
      )}
    </>
  );
}
