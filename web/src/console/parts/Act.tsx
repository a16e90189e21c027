import { Button, type ButtonProps } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { useMutation } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { sentenceOf } from "@/app/errors";
import { tellDone } from "@/parts/ConfirmAction";
import { then } from "./reading";

type Acting = { label: ReactNode; act: () => Promise<unknown>; done: string; undo?: () => Promise<unknown> } & ButtonProps;

/** A button for what harms nobody: done at once, told, and taken back where that is possible. */
export function Act({ label, act, done, undo, ...button }: Acting) {
  const action = useMutation({
    mutationFn: then(act),
    onSuccess: () => tellDone(done, undo && then(undo)),
    onError: (problem) => notifications.show({ color: "red", message: sentenceOf(problem) }),
  });
  return <Button variant="default" {...button} loading={action.isPending} onClick={() => action.mutate()}>{label}</Button>;
}
