import { describe, expect, it } from "vitest";
import type { WorkerStatus } from "@/client";
import { healthOf } from "./health";

const AT = "2026-11-16T12:00:00Z";

function looked({ workers = [], queued = 0, because = null, storage = "ok", status = "ready" }: {
  workers?: [WorkerStatus, string?][]; queued?: number; because?: string | null; storage?: string; status?: "ready" | "degraded" | "unready";
}) {
  const counts: Partial<Record<WorkerStatus, number>> = {};
  for (const [each] of workers) counts[each] = (counts[each] ?? 0) + 1;
  return {
    at: AT, status, parts: { database: "ok", storage }, worker_counts: counts as Record<WorkerStatus, number>, workflows: [{ queued, waits_because: because }],
    workers: workers.map(([each, seen = AT]) => ({ status: each, last_seen_at: seen })),
  };
}

describe("health", () => {
  it.each([
    ["somebody takes work", looked({ workers: [["approved"], ["draining"]], queued: 3 }), "good", "Healthy", "All 2 parts answer"],
    ["the only one drains, and a job waits", looked({ workers: [["draining"]], queued: 1 }), "bad", "No worker", "0 of 1 worker takes work"],
    ["none is approved yet", looked({ workers: [["pending"], ["gone"]] }), "fair", "No worker", "0 of 1 worker takes work"],
    ["nobody is there", looked({ workers: [["gone"]], queued: 1 }), "bad", "No worker", "No worker is there"],
    ["the only one is silent", looked({ workers: [["approved", "2026-11-16T11:50:00Z"]], queued: 1 }), "bad", "No worker", "0 of 1 worker takes work, 1 of the workers says nothing any more"],
    ["one of two is silent", looked({ workers: [["approved"], ["approved", "2026-11-16T11:50:00Z"]] }), "fair", "Degraded", "1 of the workers says nothing any more"],
    ["jobs wait for a worker that has what they need", looked({ workers: [["approved"]], queued: 2, because: "No worker has it." }), "bad", "Jobs are stuck", "Jobs of 1 workflow wait: no worker takes it"],
    ["what only waits its turn is well", looked({ workers: [["approved"]], queued: 200 }), "good", "Healthy", "All 2 parts answer"],
    ["a part fails", looked({ workers: [["approved"]], storage: "not_reachable", status: "degraded" }), "fair", "Degraded", "storage: not reachable"],
    ["the server cannot serve", looked({ storage: "not_reachable", status: "unready" }), "bad", "Down", "storage: not reachable, No worker is there"],
  ])("%s", (_, found, tone, value, text) => {
    expect(healthOf(found)).toEqual({ tone, value, text });
  });
});
