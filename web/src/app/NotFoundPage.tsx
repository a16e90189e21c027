import { Button } from "@mantine/core";
import { IconMapOff } from "@tabler/icons-react";
import { EmptyState } from "@/parts/EmptyState";

export function NotFoundPage() {
  return (
    <EmptyState icon={IconMapOff} title="There is nothing at this address" text="It may have been deleted, or the link is not complete.">
      <Button component="a" href="/" variant="light">Go home</Button>
    </EmptyState>
  );
}
