/** As many rows as fit a screen, however many jobs there are. */
import { Group, Text, VisuallyHidden } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { useWindowVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useRef } from "react";
import type { JobView } from "@/client";
import { Ago } from "@/parts/Ago";
import { Media } from "@/parts/Media";
import { StatusBadge } from "@/parts/StatusBadge";
import { Tokens } from "@/parts/Tokens";
import { sentenceFor } from "../job/failures";
import classes from "./JobList.module.css";

const ROW_PX = 76;
const AHEAD_ROWS = 15;

export function JobList({ jobs, names, more, loadMore }: { jobs: JobView[]; names: Map<string, string>; more: boolean; loadMore: () => void }) {
  "use no memo"; // the virtualizer changes in place
  const top = useRef<HTMLDivElement>(null);
  const rows = useWindowVirtualizer({ count: jobs.length, estimateSize: () => ROW_PX, overscan: 8, scrollMargin: 0 });
  const shown = rows.getVirtualItems();
  const last = shown.at(-1)?.index ?? 0;
  useEffect(() => {
    if (more && last >= jobs.length - AHEAD_ROWS) loadMore();
  }, [more, last, jobs.length, loadMore]);
  return (
    <div ref={top} role="list" aria-label="Jobs" style={{ height: rows.getTotalSize(), position: "relative" }}>
      {shown.map((row) => {
        const job = jobs[row.index];
        if (!job) return null;
        return (
          <div key={job.id} role="listitem" className={classes.place} style={{ transform: `translateY(${row.start}px)`, height: ROW_PX }}>
            <Row job={job} name={names.get(job.effect ?? "") ?? job.effect ?? "a job"} />
          </div>
        );
      })}
    </div>
  );
}

function Row({ job, name }: { job: JobView; name: string }) {
  const output = job.outputs.find((each) => each.is_primary) ?? job.outputs[0];
  return (
    <Link to="/jobs/$jobId" params={{ jobId: job.id }} className={classes.row}>
      <div className={classes.picture}>{output && <Media url={output.thumb_url ?? output.url} mimeType={output.thumb_url ? "image/webp" : output.mime_type} alt="" />}</div>
      <div className={classes.words}>
        <Text fw={600} truncate>{name}</Text>
        <Text size="sm" className="quiet" truncate>{said(job)}</Text>
      </div>
      <Group gap="md" wrap="nowrap" className={classes.facts}>
        <Text size="sm" className={classes.price}><Price job={job} /></Text>
        <StatusBadge status={job.status} />
        <Text size="sm" className={`quiet ${classes.when}`}><Ago at={job.created_at} /></Text>
      </Group>
    </Link>
  );
}

/** What did not come to be costs nothing. */
function Price({ job }: { job: JobView }) {
  if (job.status !== "failed" && job.status !== "cancelled") return <Tokens amount={job.credits_cost} />;
  return <s title="Given back" className="quiet"><Tokens amount={job.credits_cost} /><VisuallyHidden> given back</VisuallyHidden></s>;
}

/** What tells this job from the others: why it failed, or the words it was given. */
function said(job: JobView): string {
  if (job.status === "failed") return sentenceFor(job);
  const words = Object.values(job.properties).filter((each): each is string => typeof each === "string" && each.includes(" "));
  return words[0] ?? "";
}
