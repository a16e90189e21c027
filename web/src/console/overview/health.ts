/** Whether the fleet can do anything at all, in one word and a line. */
import type { OverviewView } from "@/client";

export type Tone = "good" | "fair" | "bad" | "calm";
type Looked = Pick<OverviewView, "at" | "status" | "parts" | "worker_counts"> & {
  workers: Pick<OverviewView["workers"][number], "status" | "last_seen_at">[];
  workflows: Pick<OverviewView["workflows"][number], "queued" | "waits_because">[];
};

/** Heartbeats and polls come every half minute at the latest. */
export const isSilent = (seenAt: string, now: string) => new Date(now).getTime() - new Date(seenAt).getTime() > 120_000;

/** Of those that are there, how many take work. */
export function takersOf({ at, workers, worker_counts: counts }: Pick<Looked, "at" | "workers" | "worker_counts">) {
  const silent = workers.filter((each) => each.status === "approved" && isSilent(each.last_seen_at, at)).length;
  const there = (counts.pending ?? 0) + (counts.approved ?? 0) + (counts.draining ?? 0);
  return { there, silent, taking: (counts.approved ?? 0) - silent };
}

export const takersText = (taking: number, there: number) =>
  there === 0 ? "No worker is there" : `${taking} of ${there} ${there === 1 ? "worker takes" : "workers take"} work`;

export function healthOf(found: Looked): { tone: Tone; value: string; text: string } {
  const wrong = Object.entries(found.parts).filter(([, state]) => state !== "ok").map(([name, state]) => `${name}: ${state.replaceAll("_", " ")}`);
  const { there, silent, taking } = takersOf(found);
  const waits = found.workflows.some((each) => each.queued > 0);
  const stuck = found.workflows.filter((each) => each.queued > 0 && each.waits_because !== null).length;
  const said = [...wrong];
  if (taking === 0) said.push(takersText(taking, there));
  if (silent > 0) said.push(`${silent} of the workers ${silent === 1 ? "says" : "say"} nothing any more`);
  if (stuck > 0 && taking > 0) said.push(`Jobs of ${stuck} ${stuck === 1 ? "workflow wait: no worker takes it" : "workflows wait: no worker takes them"}`);
  const text = said.join(", ") || `All ${Object.keys(found.parts).length} parts answer`;
  if (found.status === "unready") return { tone: "bad", value: "Down", text };
  if (taking === 0) return { tone: waits ? "bad" : "fair", value: "No worker", text };
  if (stuck > 0) return { tone: "bad", value: "Jobs are stuck", text };
  return said.length > 0 ? { tone: "fair", value: "Degraded", text } : { tone: "good", value: "Healthy", text };
}
