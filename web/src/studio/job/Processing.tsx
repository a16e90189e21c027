import { Badge, Button, Group, Progress, Stack, Text, Title } from "@mantine/core";
import { IconHourglass, IconX } from "@tabler/icons-react";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { cancelJob, type JobView, type VideoView } from "@/client";
import { getJobQueryKey } from "@/client/@tanstack/react-query.gen";
import { Media } from "@/parts/Media";
import { Problem } from "@/parts/Problem";
import { Tokens } from "@/parts/Tokens";
import { secondsText } from "@/parts/times";
import { walletMoved } from "../wallet/useWallet";
import classes from "./JobPage.module.css";
import { barOf, placeText, STARTING, stateText } from "./progress";
import { ranFor, type Running } from "./useJob";

export function Processing({ job, video, running, frame, expectedS }: {
  job: JobView;
  video: VideoView | undefined;
  running: Running | null;
  frame: string | null;
  expectedS: number | null;
}) {
  const now = useNow();
  const waits = running?.waits ?? false;
  const hasWaited = useEver(waits);
  const seenFor = useSince(job.status === "processing" && !waits, now);
  // The queue says that a worker has it before the job's own row knows since when; and that counts from the lease.
  const ran = hasWaited ? seenFor : (ranFor(job, now) ?? seenFor);
  const bar = barOf(job, running, { ran, expectedS });
  return (
    <div className={classes.stage}>
      <div className={`surface ${classes.picture}`}>
        {frame ? (
          <img src={frame} alt="How it looks so far" className={classes.frame} />
        ) : (
          <>
            {video && <div className={`${classes.frame} ${classes.soft}`}><Media url={video.poster_url} mimeType="image/webp" alt="" /></div>}
            <div className={classes.waiting}><IconHourglass size={44} stroke={1.2} aria-hidden /></div>
          </>
        )}
      </div>
      <Stack className={`surface ${classes.panel}`}>
        <div>
          <Title order={2}>{stateText(job)}</Title>
          <Text size="sm" className="quiet">{job.status === "queued" ? placeText(job.queue) : bar.detail}</Text>
        </div>
        <div>
          <Progress value={bar.percent} size="lg" radius="xl" animated={!bar.real} striped={!bar.real} aria-label="Progress" />
          <Group justify="space-between" mt={6}>
            <Text size="sm" className="numbers">{bar.label}</Text>
            {!bar.real && job.status === "processing" && bar.label !== STARTING && <Badge variant="light" color="gray" tt="none">estimate</Badge>}
          </Group>
        </div>
        <Text size="sm" className="quiet">
          <Tokens amount={job.credits_cost} /> set aside{running !== null && !running.waits && ran !== null && `, running for ${secondsText(ran)}`}. They come back if you cancel. You can leave this page; it goes on.
        </Text>
        <Cancel job={job} />
      </Stack>
    </div>
  );
}

function Cancel({ job }: { job: JobView }) {
  const queries = useQueryClient();
  const cancel = useMutation({
    mutationFn: async () => (await cancelJob({ path: { job_id: job.id }, throwOnError: true })).data,
    onSuccess: (changed) => {
      queries.setQueryData(getJobQueryKey({ path: { job_id: job.id } }), changed);
      void walletMoved(queries);
    },
  });
  return (
    <>
      {cancel.isError && <Problem problem={cancel.error} />}
      <Button variant="default" leftSection={<IconX size={16} />} loading={cancel.isPending} disabled={job.cancel_requested} onClick={() => cancel.mutate()}>
        Cancel
      </Button>
    </>
  );
}

/** Seconds for which something has been so without a break, as far as this page saw. */
function useSince(isSo: boolean, now: number): number | null {
  const [since, setSince] = useState<number | null>(null);
  if (isSo !== (since !== null)) setSince(isSo ? now : null);
  return since === null ? null : (now - since) / 1000;
}

function useEver(isSo: boolean): boolean {
  const [was, setWas] = useState(false);
  if (isSo && !was) setWas(true);
  return was || isSo;
}

function useNow(): number {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    const timer = window.setInterval(() => setNow(Date.now()), 500);
    return () => window.clearInterval(timer);
  }, []);
  return now;
}
