import { Button, Checkbox, Group, Modal, Select, Stack, TextInput } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useState, type FormEvent } from "react";
import { createKey } from "@/client";
import { isAdmin, useSignedIn } from "@/app/session";
import { Problem } from "@/parts/Problem";
import { Secret } from "@/parts/Secret";

type Scope = "read" | "write" | "manage";
const DAY_S = 86_400;
const LIVES = [
  { value: "0", label: "until it is revoked" },
  { value: String(30 * DAY_S), label: "30 days" },
  { value: String(365 * DAY_S), label: "a year" },
];

export function NewKey({ opened, close, made }: { opened: boolean; close: () => void; made: () => void }) {
  // From the moment it is asked for: what cannot be shown again is put away by its button alone, not by a stray click.
  const [isHeld, hold] = useState(false);
  const putAway = () => {
    hold(false);
    close();
  };
  return (
    <Modal opened={opened} onClose={putAway} title="New key" closeOnClickOutside={!isHeld} closeOnEscape={!isHeld} withCloseButton={!isHeld}>
      {opened && <Form close={putAway} made={made} hold={hold} />}
    </Modal>
  );
}

function Form({ close, made, hold }: { close: () => void; made: () => void; hold: (isHeld: boolean) => void }) {
  const me = useSignedIn();
  const [name, setName] = useState("");
  const [scopes, setScopes] = useState<Scope[]>(["read", "write"]);
  const [lives, setLives] = useState("0");
  const create = useMutation({
    mutationFn: async () => (await createKey({ body: { name, scopes, expires_in_s: Number(lives) || null }, throwOnError: true })).data,
    onMutate: () => hold(true),
    onSuccess: made,
    onError: () => hold(false),
  });
  if (create.data) {
    return (
      <Stack>
        <Secret value={create.data.secret} text="Copy it now. It is not shown again." />
        <Group justify="end"><Button onClick={close}>Done</Button></Group>
      </Stack>
    );
  }
  return (
    <form onSubmit={(event: FormEvent) => { event.preventDefault(); create.mutate(); }}>
      <Stack>
        <TextInput label="Name" description="What will use it." required maxLength={100} data-autofocus value={name} onChange={(event) => setName(event.currentTarget.value)} />
        <Checkbox.Group label="It may" value={scopes} onChange={(chosen) => setScopes(chosen)}>
          <Stack gap={6} mt={6}>
            <Checkbox value="read" label="read: see jobs, files and the wallet" />
            <Checkbox value="write" label="write: upload, order and cancel" />
            {isAdmin(me) && <Checkbox value="manage" label="manage: webhooks and people" />}
          </Stack>
        </Checkbox.Group>
        <Select label="It lives" data={LIVES} value={lives} onChange={(value) => setLives(value ?? "0")} allowDeselect={false} />
        {create.isError && <Problem problem={create.error} />}
        <Group justify="end">
          <Button variant="default" onClick={close} disabled={create.isPending}>Not now</Button>
          <Button type="submit" loading={create.isPending} disabled={scopes.length === 0}>Create key</Button>
        </Group>
      </Stack>
    </form>
  );
}
