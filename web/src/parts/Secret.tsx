import { Alert, Button, Code, Group, Text } from "@mantine/core";
import { IconCheck, IconCopy } from "@tabler/icons-react";
import { useCopy } from "./copying";

/** Something to copy now, because it is not shown again. */
export function Secret({ value, text }: { value: string; text: string }) {
  return (
    <Alert color="sun" variant="light" title={text}>
      <Group wrap="nowrap" align="start">
        <Code block flex={1} style={{ overflowWrap: "anywhere", whiteSpace: "pre-wrap" }}>{value}</Code>
        <Copy value={value} />
      </Group>
    </Alert>
  );
}

export function Copy({ value, label = "Copy" }: { value: string; label?: string }) {
  const { copied, copy } = useCopy(value);
  return (
    <Button variant="default" size="compact-md" onClick={copy} leftSection={copied ? <IconCheck size={15} /> : <IconCopy size={15} />}>
      <Text span inherit>{copied ? "Copied" : label}</Text>
    </Button>
  );
}
