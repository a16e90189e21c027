import { Button, Group, Modal, Stack, Text, type ButtonProps } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { notifications } from "@mantine/notifications";
import { useMutation } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { sentenceOf } from "@/app/errors";
import { Problem } from "./Problem";

type Action = {
  label: string;
  question: string;
  text: ReactNode;
  confirm?: string;
  act: () => Promise<unknown>;
  /** What is said afterwards, and how it is taken back where that is possible. */
  done: string;
  undo?: () => Promise<unknown>;
} & ButtonProps;

/** A button for what should not happen by accident. */
export function ConfirmAction({ label, question, text, confirm = label, act, done, undo, ...button }: Action) {
  const [opened, { open, close }] = useDisclosure();
  // As it was meant at the click: by the time it is done, the page may show the other state.
  const action = useMutation({
    mutationFn: ({ act }: Pick<Action, "act" | "done" | "undo">) => act(),
    onSuccess: (_, { done, undo }) => {
      close();
      tellDone(done, undo);
    },
  });
  // What is under way cannot be kept from happening, and how it ends is said here.
  const leave = () => {
    if (!action.isPending) close();
  };
  return (
    <>
      <Button variant="default" {...button} onClick={() => { action.reset(); open(); }}>{label}</Button>
      <Modal opened={opened} onClose={leave} title={question}>
        <Stack>
          <Text size="sm">{text}</Text>
          {action.isError && <Problem problem={action.error} />}
          <Group justify="end" gap="xs">
            <Button variant="default" onClick={close} disabled={action.isPending} data-autofocus>Keep</Button>
            <Button color="red" loading={action.isPending} onClick={() => action.mutate({ act, done, undo })}>{confirm}</Button>
          </Group>
        </Stack>
      </Modal>
    </>
  );
}

/** The last one that only tells: what is told next makes it old. One that can be taken back stays for its time. */
let onlyTold: string | undefined;

export function tellDone(done: string, undo?: () => Promise<unknown>) {
  if (onlyTold !== undefined) notifications.hide(onlyTold);
  const id = notifications.show({
    message: undo ? (
      <Group justify="space-between" wrap="nowrap">
        <Text size="sm">{done}</Text>
        <Button size="compact-sm" variant="light" flex="none" onClick={() => void takeBack(id, undo)}>Undo</Button>
      </Group>
    ) : done,
    autoClose: undo ? 8_000 : 4_000,
  });
  onlyTold = undo ? undefined : id;
}

async function takeBack(id: string, undo: () => Promise<unknown>) {
  notifications.hide(id);
  try {
    await undo();
    notifications.show({ message: "Taken back." });
  } catch (problem) {
    notifications.show({ color: "red", title: "Could not be taken back", message: sentenceOf(problem) });
  }
}
