import { Alert, Button, Group, Text } from "@mantine/core";
import { IconAlertCircle } from "@tabler/icons-react";
import type { ReactNode } from "react";
import { sentenceOf } from "@/app/errors";

/** What went wrong and what to do. `again`: how to try once more. */
export function Problem({ problem, again, children }: { problem: unknown; again?: () => void; children?: ReactNode }) {
  return (
    <Alert color="red" variant="light" role="alert" icon={<IconAlertCircle size={18} />} w="100%">
      <Text size="sm">{sentenceOf(problem)}</Text>
      {(again ?? children) !== undefined && (
        <Group mt="sm" gap="xs">
          {again && <Button size="compact-sm" variant="default" onClick={again}>Try again</Button>}
          {children}
        </Group>
      )}
    </Alert>
  );
}
