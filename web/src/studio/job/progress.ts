/** What the bar shows. Real steps where a worker has told them; otherwise a guess that says that it is one. */
import type { JobView, QueueView } from "@/client";
import { durationText } from "@/parts/times";
import type { Running } from "./useJob";

export type Bar = { percent: number; real: boolean; label: string; detail: string };
/** Where not even a guess can be made. */
export const STARTING = "Starting";
const TAKEN = "A worker has taken it, and begins as soon as it is free.";
// A guess never reaches the end: only the end does.
const GUESS_MAX = 0.92;

const ENDS: Partial<Record<JobView["status"], string>> = { completed: "Done", failed: "Failed", cancelled: "Cancelled" };

/** How it stands, in a word or two: for whoever listens, or looks at another tab. */
export function stateText({ status, cancel_requested }: Pick<JobView, "status" | "cancel_requested">): string {
  return ENDS[status] ?? (cancel_requested ? "Stopping…" : status === "queued" ? "Waiting for its turn" : "Making it");
}

export function barOf(job: Pick<JobView, "status">, running: Running | null, { ran, expectedS }: { ran: number | null; expectedS: number | null }): Bar {
  if (job.status === "queued") return { percent: 0, real: false, label: "", detail: "" };
  if (running?.waits) return { percent: 0, real: true, label: "", detail: TAKEN };
  // Where nobody can tell how far it is, as with Comfy Cloud, it is said to be at its beginning until it is over.
  if (running !== null && running.fraction !== null && (running.fraction > 0 || running.node !== null)) {
    const percent = Math.round(running.fraction * 100);
    const step = running.step !== null && running.steps !== null ? `step ${running.step} of ${running.steps}` : null;
    return { percent, real: true, label: `${percent}%`, detail: [running.node, step].filter(Boolean).join(" · ") || "At work" };
  }
  const detail = running?.node ?? "A worker has taken it.";
  if (ran === null || expectedS === null || expectedS <= 0) return { percent: 4, real: false, label: STARTING, detail };
  const fraction = Math.min(ran / expectedS, 1) * GUESS_MAX;
  const left = expectedS - ran;
  return { percent: Math.round(fraction * 100), real: false, label: left > 0 ? `${durationText(left)} left` : "longer than usual", detail };
}

export function placeText(queue: QueueView | null): string {
  if (queue === null) return "In the queue.";
  const place = queue.position === 1 ? "Next in the queue" : `Place ${queue.position}${queue.position_is_at_least ? " or later" : ""} in the queue`;
  if (queue.waits_because !== null) return `${place}. ${queue.waits_because}${deadlineText(queue.deadline_at)}`;
  if (queue.estimated_start_s === null) return `${place}. No worker can run it right now; it waits until one can.`;
  return `${place}, starts in ${durationText(queue.estimated_start_s)}.`;
}

/** A job that waits too long fails, and costs nothing. */
function deadlineText(deadline: string | null): string {
  if (deadline === null) return "";
  return ` If none has begun by ${new Date(deadline).toLocaleString([], { dateStyle: "medium", timeStyle: "short" })}, it fails and its tokens come back.`;
}
