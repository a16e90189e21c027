import { Stack, Text, ThemeIcon, Title } from "@mantine/core";
import type { Icon } from "@tabler/icons-react";
import type { ReactNode } from "react";

export function EmptyState({ icon: Icon, title, text, children }: { icon: Icon; title: string; text?: string; children?: ReactNode }) {
  return (
    <Stack align="center" gap="sm" py={64} px="md" ta="center">
      <ThemeIcon size={52} radius="xl" variant="light" aria-hidden><Icon size={26} stroke={1.5} /></ThemeIcon>
      <Title order={2}>{title}</Title>
      {text && <Text className="quiet" maw={420}>{text}</Text>}
      {children}
    </Stack>
  );
}
