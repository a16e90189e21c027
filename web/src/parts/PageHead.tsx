import { Group, Text, Title } from "@mantine/core";
import { useEffect, type ReactNode } from "react";

/** The title of a page, of the tab, and what can be done here. */
export function PageHead({ title, text, children }: { title: string; text?: ReactNode; children?: ReactNode }) {
  useEffect(() => {
    document.title = `${title} · comfyfleet`;
    return () => {
      document.title = "comfyfleet";
    };
  }, [title]);
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
