import { Button, Group, Modal, Stack } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useMutation } from "@tanstack/react-query";
import type { FormEvent, ReactNode } from "react";
import { Problem } from "@/parts/Problem";
import { then } from "./reading";

/** A button that opens a small form, and sends it. `children` are its fields. */
export function FormAction({ label, title, send, act, onDone, disabled, children, primary }: {
  label: ReactNode; title: string; send: string; act: () => Promise<unknown>; onDone?: () => void; disabled?: boolean; children: ReactNode; primary?: boolean;
}) {
  const [opened, { open, close }] = useDisclosure();
  // As they were at the click: by the time it is done, the page knows the new state, and an undo needs the old one.
  const action = useMutation({
    mutationFn: ({ act }: { act: () => Promise<unknown>; onDone?: () => void }) => then(act)(),
    onSuccess: (_, { onDone }) => {
      close();
      onDone?.();
    },
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    action.mutate({ act, onDone });
  };
  return (
    <>
      <Button variant={primary ? "filled" : "default"} onClick={() => { action.reset(); open(); }}>{label}</Button>
      <Modal opened={opened} onClose={close} title={title}>
        <form onSubmit={submit}>
          <Stack>
            {children}
            {action.isError && <Problem problem={action.error} />}
            <Group justify="end" gap="xs">
              <Button variant="default" onClick={close}>Cancel</Button>
              <Button type="submit" loading={action.isPending} disabled={disabled}>{send}</Button>
            </Group>
          </Stack>
        </form>
      </Modal>
    </>
  );
}
