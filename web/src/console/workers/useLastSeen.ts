/** When each worker was heard last, as the stream tells every other second: a list that was read once would grow old. */
import { useState } from "react";
import { useLive } from "@/app/live";
import type { OverviewView } from "@/client";

export function useLastSeen(): (worker: { worker_id: string; last_seen_at: string }) => string {
  const [seen, setSeen] = useState<Map<string, string>>(new Map());
  useLive<OverviewView>("overview", ({ workers }) => setSeen(new Map(workers.map((each) => [each.worker_id, each.last_seen_at]))));
  return (worker) => {
    const told = seen.get(worker.worker_id);
    return told !== undefined && told > worker.last_seen_at ? told : worker.last_seen_at;
  };
}
