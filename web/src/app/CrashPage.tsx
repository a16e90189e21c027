import { Button, Center } from "@mantine/core";
import { IconBug } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import type { ErrorComponentProps } from "@tanstack/react-router";
import { useEffect } from "react";
import { EmptyState } from "@/parts/EmptyState";
import { Problem } from "@/parts/Problem";
import { FleetFault } from "./errors";
import { usePolling } from "./live";
import { askServer } from "./loadPage";

/** A page of ours broke, could not be fetched, or belongs to a newer version of the app than this tab loaded. */
export function CrashPage({ error }: ErrorComponentProps) {
  if (error instanceof FleetFault) return <NotFetched problem={error} />;
  const outdated = error instanceof Error && error.message.includes("dynamically imported module");
  return (
    <Center mih="70vh">
      <EmptyState
        icon={IconBug}
        title={outdated ? "The app was updated" : "This page broke"}
        text={outdated ? "Reload to get the new version." : "That is our fault. Reloading may help; nothing you started is lost."}
      >
        <Button onClick={() => location.reload()}>Reload</Button>
      </EmptyState>
    </Center>
  );
}

/** The server is away. It is asked until it is back, by us or by whoever does not want to wait. */
function NotFetched({ problem }: { problem: FleetFault }) {
  const server = useQuery({ queryKey: ["server"], queryFn: askServer, retry: false, refetchInterval: usePolling() });
  useEffect(() => {
    if (server.isSuccess) location.reload();
  }, [server.isSuccess]);
  return <Problem problem={server.error ?? problem} again={() => void server.refetch()} />;
}
