import { Button, Group, Modal, MultiSelect, Stack, TextInput } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useState, type FormEvent } from "react";
import { addWebhook, type WebhookType } from "@/client";
import { Problem } from "@/parts/Problem";
import { Secret } from "@/parts/Secret";
import { KINDS } from "./kinds";

export function NewEndpoint({ opened, close, made }: { opened: boolean; close: () => void; made: () => void }) {
  return <Modal opened={opened} onClose={close} title="Add an address">{opened && <Form close={close} made={made} />}</Modal>;
}

function Form({ close, made }: { close: () => void; made: () => void }) {
  const [url, setUrl] = useState("");
  const [description, setDescription] = useState("");
  const [kinds, setKinds] = useState<WebhookType[]>([]);
  const add = useMutation({
    mutationFn: async () => (await addWebhook({ body: { url, description, event_types: kinds.length > 0 ? kinds : null }, throwOnError: true })).data,
    onSuccess: made,
  });
  if (add.data) {
    return (
      <Stack>
        <Secret value={add.data.secret} text="By this secret your program knows that a delivery comes from here." />
        <Group justify="end"><Button onClick={close}>Done</Button></Group>
      </Stack>
    );
  }
  return (
    <form onSubmit={(event: FormEvent) => { event.preventDefault(); add.mutate(); }}>
      <Stack>
        <TextInput label="Address" type="url" placeholder="https://example.com/hooks" required data-autofocus value={url} onChange={(event) => setUrl(event.currentTarget.value)} />
        <TextInput label="What it is for" maxLength={200} value={description} onChange={(event) => setDescription(event.currentTarget.value)} />
        <MultiSelect label="Tell it of" placeholder={kinds.length === 0 ? "everything" : undefined} data={KINDS} value={kinds} onChange={(chosen) => setKinds(chosen)} />
        {add.isError && <Problem problem={add.error} />}
        <Group justify="end">
          <Button variant="default" onClick={close}>Not now</Button>
          <Button type="submit" loading={add.isPending}>Add</Button>
        </Group>
      </Stack>
    </form>
  );
}
