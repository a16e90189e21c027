import { Button, Group, Modal, Stack, Text } from "@mantine/core";
import { useBlocker } from "@tanstack/react-router";

/** Asks whoever goes elsewhere in mid-upload: it ends with its page, and nobody should find out later. */
export function LeaveQuestion({ uploading }: { uploading: boolean }) {
  const blocker = useBlocker({ shouldBlockFn: () => uploading, enableBeforeUnload: uploading, withResolver: true });
  return (
    <Modal opened={blocker.status === "blocked"} onClose={() => blocker.reset?.()} title="Leave while it uploads?">
      <Stack>
        <Text size="sm">The upload stops when you leave, and nothing is ordered.</Text>
        <Group justify="end" gap="xs">
          <Button variant="default" onClick={() => blocker.proceed?.()}>Leave</Button>
          <Button data-autofocus onClick={() => blocker.reset?.()}>Stay</Button>
        </Group>
      </Stack>
    </Modal>
  );
}
