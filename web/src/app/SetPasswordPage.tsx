import { Anchor, Button, Checkbox, PasswordInput, Stack, Text, Title } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useState, type FormEvent } from "react";
import { setPassword } from "@/client";
import { Problem } from "@/parts/Problem";
import { DoorFrame } from "./DoorFrame";
import { FleetFault } from "./errors";

const LENGTH_MIN = 12;
const INCOMPLETE = new FleetFault({
  code: "link_incomplete",
  message: "This link is not complete. Open it as it was sent to you, or ask for a new one.",
  details: {},
});

export function SetPasswordPage() {
  // The token stands behind '#', so it was never sent to a server or written into a log.
  const [token] = useState(() => new URLSearchParams(location.hash.slice(1)).get("token") ?? "");
  const [password, setTyped] = useState("");
  const [revokeKeys, setRevokeKeys] = useState(false);
  const save = useMutation({
    mutationFn: () => setPassword({ body: { token, password, revoke_keys: revokeKeys }, throwOnError: true }),
    onSuccess: () => history.replaceState(null, "", location.pathname),
  });
  function submit(event: FormEvent) {
    event.preventDefault();
    save.mutate();
  }
  return (
    <DoorFrame>
      <Stack gap="lg">
        <Title order={1}>Choose a password</Title>
        {save.isSuccess ? (
          <Text>Your password is set{revokeKeys ? `, and ${keysText(save.data.data.keys_revoked)} revoked` : ""}. <Anchor href="/">Log in</Anchor></Text>
        ) : (
          <form onSubmit={submit}>
            <Stack>
              <PasswordInput
                label="New password"
                description="At least 12 characters. A few words that only you would put together are better than symbols."
                autoComplete="new-password"
                minLength={LENGTH_MIN}
                maxLength={1024}
                required
                withAsterisk={false}
                autoFocus
                value={password}
                onChange={(event) => setTyped(event.currentTarget.value)}
              />
              <Checkbox
                label="Also revoke all my API keys"
                description="Tick it if somebody else may have had your password: they may have made keys. Programs that use your keys need new ones."
                checked={revokeKeys}
                onChange={(event) => setRevokeKeys(event.currentTarget.checked)}
              />
              {token === "" && <Problem problem={INCOMPLETE} />}
              {save.isError && <Problem problem={save.error} />}
              <Button type="submit" loading={save.isPending} disabled={token === ""}>Save</Button>
            </Stack>
          </form>
        )}
      </Stack>
    </DoorFrame>
  );
}

const keysText = (count: number) => (count === 1 ? "one key is" : `${count} keys are`);
