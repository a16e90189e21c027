import { Button, Modal, Stack, Text } from "@mantine/core";
import { CopyLine } from "./Copy";

/** What cannot be shown again is put away by its button alone: no stray click and no Escape loses it. */
export function ShownOnce({ title, text, value, label, close }: { title: string; text: string; value: string | null; label: string; close: () => void }) {
  return (
    <Modal opened={value !== null} onClose={close} title={title} closeOnClickOutside={false} closeOnEscape={false} withCloseButton={false}>
      <Stack>
        <Text size="sm">{text}</Text>
        <CopyLine value={value ?? ""} label={label} />
        <Button onClick={close}>I have it</Button>
      </Stack>
    </Modal>
  );
}
