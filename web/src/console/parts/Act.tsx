import { Button, type ButtonProps } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { useMutation } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { sentenceOf } from "@/app/errors";
import { tellDone } from "@/parts/ConfirmAction";
import { then } from "./reading";

// As it was meant at the click: by the time it is done, the page shows the other state, and offers the other deed.
type Meant = { act: () => Promise<unknown>; done: string; undo?: () => Promise<unknown> };
type Acting = { label: ReactNode } & Meant & ButtonProps;

/** A button for what harms nobody: done at once, told, and taken back where that is possible. */
export function Act({ label, act, done, undo, ...button }: Acting) {
  const action = useMutation({
    mutationFn: ({ act }: Meant) => then(act)(),
    onSuccess: (_, { done, undo }) => tellDone(done, undo && then(undo)),
    onError: (problem) => notifications.show({ color: "red", message: sentenceOf(problem) }),
  });
  return <Button variant="default" {...button} loading={action.isPending} onClick={() => action.mutate({ act, done, undo })}>{label}</Button>;
}
