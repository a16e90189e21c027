import { Group, Text, Title } from "@mantine/core";
import { useEffect, type ReactNode } from "react";

/** The title of a page, of the tab, and what can be done here. `tab`: where the tab says more than the page. */
export function PageHead({ title, tab = title, text, children }: { title: string; tab?: string; text?: ReactNode; children?: ReactNode }) {
  useEffect(() => {
    document.title = `${tab} · comfyfleet`;
    return () => {
      document.title = "comfyfleet";
    };
  }, [tab]);
  return (
    <Group justify="space-between" align="end" mb="lg" gap="sm">
      <div>
        <Title order={1}>{title}</Title>
        {text && <Text className="quiet" mt={4}>{text}</Text>}
      </div>
      {children && <Group gap="xs">{children}</Group>}
    </Group>
  );
}
