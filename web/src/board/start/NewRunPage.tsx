import { Alert } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useSearch } from "@tanstack/react-router";
import { useState } from "react";
import { EmptyState } from "@/parts/EmptyState";
import { Loading } from "@/parts/Loading";
import { PageHead } from "@/parts/PageHead";
import { Problem } from "@/parts/Problem";
import { IconRoute } from "@tabler/icons-react";
import { everyOffer } from "@/studio/gallery/everyOffer";
import { pipelinesQuery } from "../data";
import { RunForm } from "./RunForm";

export function NewRunPage() {
  const { pipeline: wished } = useSearch({ strict: false });
  const pipelines = useQuery(pipelinesQuery);
  const effects = useQuery(everyOffer);
  const [chosen, choose] = useState<string | null>(wished ?? null);
  const problem = pipelines.error ?? effects.error;
  const again = () => void Promise.all([pipelines.refetch(), effects.refetch()]);
  // What is known stays, with all that was typed, where it could not be read again.
  if (!pipelines.data || !effects.data) {
    return <><PageHead title="New run" />{problem ? <Problem problem={problem} again={again} /> : <Loading h={420} maw={760} />}</>;
  }
  const alive = pipelines.data.filter((each) => each.archived_at === null);
  const pipeline = alive.find((each) => each.slug === (chosen ?? alive[0]?.slug));
  const shown = pipeline ?? alive[0];
  return (
    <>
      <PageHead title="New run" text="It begins at once; every picture is paid for as it is begun." />
      {wished && !pipeline && <Alert color="orange" mb="md">There is no pipeline “{wished}” any more. Choose another one.</Alert>}
      {alive.length === 0 && (
        <EmptyState icon={IconRoute} title="No pipelines yet" text="Apply one from a terminal: comfyfleet pipelines apply pipeline.yaml" />
      )}
      {/* By its slug: a newer version must not empty the form either. */}
      {shown && <RunForm key={shown.slug} pipelines={alive} pipeline={shown} effects={effects.data} choose={choose} />}
    </>
  );
}
