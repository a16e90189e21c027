import { Group, Text, Title } from "@mantine/core";
import type { ReactNode } from "react";

/** A part of a page, with its title and what can be done with it. */
export function Panel({ title, text, side, children }: { title: string; text?: ReactNode; side?: ReactNode; children: ReactNode }) {
  return (
    <section className="surface" style={{ padding: "1.25rem", minWidth: 0 }}>
      <Group justify="space-between" align="start" mb="md" gap="sm">
        <div>
          <Title order={2} fz="md">{title}</Title>
          {text && <Text size="sm" className="quiet" mt={2}>{text}</Text>}
        </div>
        {side}
      </Group>
      {children}
    </section>
  );
}
