import { Button, Center } from "@mantine/core";
import { IconBug } from "@tabler/icons-react";
import type { ErrorComponentProps } from "@tanstack/react-router";
import { faultOf } from "./errors";
import { EmptyState } from "@/parts/EmptyState";

/** A page of ours broke, or a newer version of the app replaced the one that this tab loaded. */
export function CrashPage({ error }: ErrorComponentProps) {
  const outdated = /dynamically imported module|Importing a module|Failed to fetch/i.test(faultOf(error).message);
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
