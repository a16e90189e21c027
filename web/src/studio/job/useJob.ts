/** One job, kept true by the stream; where the stream is not up, by asking every two seconds. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useLive, usePolling, usePreviews } from "@/app/live";
import type { JobView, ProgressView, QueueView } from "@/client";
import { getJobOptions } from "@/client/@tanstack/react-query.gen";
import { walletMoved } from "../wallet/useWallet";

/** `waits`: its worker makes another one first. */
export type Running = { fraction: number | null; step: number | null; steps: number | null; node: string | null; waits: boolean };
type Told<T> = { job_id: string; data: T };
type Progress = { fraction?: number; step?: number; steps?: number; node?: string; node_class?: string; waits?: boolean };
type Preview = { mime_type?: string; image?: string };

const ENDED = new Set(["completed", "failed", "cancelled"]);
// The end is told before the result is written down everywhere; a moment later it is.
const SETTLING_MS = 400;
// Signed addresses of results live for some minutes.
const RENEW_MS = 8 * 60_000;
const PICTURES = /^image\/(png|jpeg|webp)$/;
const BASE64 = /^[A-Za-z0-9+/=]+$/;

export const isOver = (job: { status: string }) => ENDED.has(job.status);

export function useJob(jobId: string) {
  const queries = useQueryClient();
  const options = getJobOptions({ path: { job_id: jobId } });
  const polling = usePolling();
  const [heardEnd, setHeardEnd] = useState(false);
  const [running, setRunning] = useState<Running | null>(null);
  const [frame, setFrame] = useState<string | null>(null);
  const job = useQuery({
    ...options,
    refetchInterval: ({ state }) => {
      if (!state.data) return false;
      if (isOver(state.data)) return RENEW_MS;
      return heardEnd ? SETTLING_MS : polling;
    },
  });
  // Of what is over there are none, and to ask for them makes another stream, after which all is read again.
  usePreviews(job.data !== undefined && !isOver(job.data));
  useLive<{ job_id: string; status: string }>("status", (told) => {
    if (told.job_id !== jobId) return;
    if (isOver(told)) {
      setHeardEnd(true);
      void walletMoved(queries);
    }
    void queries.invalidateQueries({ queryKey: options.queryKey });
  });
  useLive<{ job_id: string } & QueueView>("queue", ({ job_id, ...queue }) => {
    if (job_id === jobId) queries.setQueryData(options.queryKey, (known) => known && { ...known, queue });
  });
  useLive<Told<Progress>>("progress", ({ job_id, data }) => {
    if (job_id !== jobId) return;
    setRunning({ fraction: data.fraction ?? null, step: data.step ?? null, steps: data.steps ?? null, node: data.node_class ?? data.node ?? null, waits: data.waits ?? false });
  });
  useLive<Told<Progress>>("node", ({ job_id, data }) => {
    if (job_id !== jobId) return;
    setRunning((known) => ({ fraction: known?.fraction ?? null, step: null, steps: null, node: data.node_class ?? data.node ?? null, waits: false }));
  });
  useLive<Told<Preview>>("preview", ({ job_id, data }) => {
    if (job_id !== jobId || !data.image || !PICTURES.test(data.mime_type ?? "") || !BASE64.test(data.image)) return;
    setFrame(`data:${data.mime_type};base64,${data.image}`);
  });
  return { job, frame, running: running ?? told(job.data?.progress) };
}

/** After a reload: the last that the server knew. */
function told(progress: ProgressView | null | undefined): Running | null {
  return progress ? { fraction: progress.fraction, step: null, steps: null, node: progress.node_class ?? progress.node, waits: progress.waits } : null;
}

/** Seconds that a job took, or has been going on for. */
export function ranFor(job: JobView, now: number): number | null {
  if (!job.started_at) return null;
  return Math.max(0, (new Date(job.completed_at ?? now).getTime() - new Date(job.started_at).getTime()) / 1000);
}
