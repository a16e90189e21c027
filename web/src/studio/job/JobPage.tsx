import { Anchor, Skeleton, Stack, VisuallyHidden } from "@mantine/core";
import { IconMoodEmpty } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { Link, useParams } from "@tanstack/react-router";
import { faultOf } from "@/app/errors";
import type { JobView } from "@/client";
import { getOfferOptions, getVideoOptions } from "@/client/@tanstack/react-query.gen";
import { BackLink } from "@/parts/BackLink";
import { EmptyState } from "@/parts/EmptyState";
import { Loading } from "@/parts/Loading";
import { PageHead } from "@/parts/PageHead";
import { Problem } from "@/parts/Problem";
import { JobDeliveries } from "../webhooks/JobDeliveries";
import { Failed } from "./Failed";
import { Processing } from "./Processing";
import { stateText } from "./progress";
import { Result } from "./Result";
import { isOver, useJob, type Running } from "./useJob";

export function JobPage() {
  const { jobId = "" } = useParams({ strict: false });
  return <Job key={jobId} jobId={jobId} />;
}

function Job({ jobId }: { jobId: string }) {
  const { job, running, frame } = useJob(jobId);
  if (job.data) return <Shown job={job.data} running={running} frame={frame} />;
  if (job.isError && ["not_found", "invalid_request"].includes(faultOf(job.error).code)) {
    return (
      <EmptyState icon={IconMoodEmpty} title="There is no such job" text="It may have been deleted, or belongs to somebody else.">
        <Anchor component={Link} to="/history">See your jobs</Anchor>
      </EmptyState>
    );
  }
  if (job.isError) return <Problem problem={job.error} again={() => void job.refetch()} />;
  return <Loading><Stack><Skeleton h={34} w={220} /><Skeleton h={420} /></Stack></Loading>;
}

function Shown({ job, running, frame }: { job: JobView; running: Running | null; frame: string | null }) {
  const offer = useQuery({ ...getOfferOptions({ path: { effect_slug: job.effect ?? "" } }), enabled: job.effect !== null, retry: false, staleTime: 60_000 });
  const video = useQuery({ ...getVideoOptions({ path: { video_id: job.video_id ?? "" } }), enabled: job.video_id !== null, retry: false, staleTime: 60_000 });
  // Until it is known nothing stands there: the short name is for addresses.
  const name = offer.isLoading ? null : (offer.data?.name ?? job.effect ?? "Job");
  const offered = offer.data !== undefined;
  const state = stateText(job);
  return (
    <>
      <BackLink to="/history">History</BackLink>
      {name === null ? <Loading h={34} w={220} mb="lg" /> : <PageHead title={name} tab={`${state}: ${name}`} />}
      {/* Lasts from the first to the last: what comes with its own words is not read out. */}
      <VisuallyHidden role="status">{state}</VisuallyHidden>
      {!isOver(job) && <Processing job={job} video={video.data} running={running} frame={frame} expectedS={offer.data?.estimated_seconds ?? null} />}
      {job.status === "completed" && <Result job={job} video={video.data} waiting={job.video_id !== null && video.isPending} offered={offered} />}
      {(job.status === "failed" || job.status === "cancelled") && <Failed job={job} offered={offered} />}
      <JobDeliveries jobId={job.id} />
    </>
  );
}
