import type { WebhookType } from "@/client";

export const KINDS: { value: WebhookType; label: string }[] = [
  { value: "job.queued", label: "jobs that were ordered" },
  { value: "job.started", label: "jobs that began" },
  { value: "job.completed", label: "jobs that are done" },
  { value: "job.failed", label: "jobs that failed" },
  { value: "job.cancelled", label: "jobs that were cancelled" },
  { value: "run.waiting_for_approval", label: "runs that wait for approval" },
  { value: "run.paused", label: "runs that paused" },
  { value: "run.completed", label: "runs that are done" },
  { value: "run.failed", label: "runs that failed" },
];
