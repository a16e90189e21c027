import { Anchor, Text } from "@mantine/core";
import { IconWebhook } from "@tabler/icons-react";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { isAdmin, useSignedIn } from "@/app/session";
import { EmptyState } from "@/parts/EmptyState";

/** Endpoints are told of everybody's jobs, so members neither see nor change them. */
export function AdminsOnly({ children }: { children: ReactNode }) {
  if (isAdmin(useSignedIn())) return children;
  return (
    <EmptyState icon={IconWebhook} title="Webhooks are set up by your admins" text="What was sent to the webhook_url of your own job is on that job's page.">
      <Text><Anchor component={Link} to="/history">See your jobs</Anchor></Text>
    </EmptyState>
  );
}
