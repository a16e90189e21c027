import { Badge } from "@mantine/core";

const COLORS: Record<string, string> = {
  draft: "gray", queued: "gray", delayed: "gray", pending: "gray", uploaded: "gray", invited: "gray",
  starting: "blue", ending: "orange", orphaned: "red", ended: "gray",
  leased: "blue", processing: "blue", running: "blue",
  completed: "green", delivered: "green", approved: "green", active: "green", ready: "green", published: "green",
  waiting_for_approval: "orange", paused: "orange", draining: "orange", degraded: "orange", retrying: "orange",
  failed: "red", firing: "red", resolved: "green", dropped: "gray", revoked: "red", unready: "red", given_up: "red",
  cancelled: "gray", stopped: "gray", gone: "gray", expired: "gray", disabled: "gray", suspended: "red",
};

export const statusText = (status: string) => status.replaceAll("_", " ");

export function StatusBadge({ status }: { status: string }) {
  return <Badge variant="light" color={COLORS[status] ?? "gray"} tt="none" fw={550} miw="max-content">{statusText(status)}</Badge>;
}
