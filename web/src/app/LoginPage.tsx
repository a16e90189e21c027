import { Anchor, Stack, Text, Title } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { DoorFrame } from "./DoorFrame";
import { LoginForm } from "./LoginForm";
import { queries } from "./queries";
import { sessionQuery } from "./session";

export function LoginPage() {
  return (
    <DoorFrame>
      <Stack gap="lg">
        <div>
          <Title order={1}>Log in</Title>
          <Text className="quiet" size="sm" mt={4}>
            Effects for pictures and clips, on a fleet of ComfyUI.
          </Text>
        </div>
        <LoginForm done={(_, warning) => void enter(warning)} />
        <Text size="sm" className="quiet">
          No password yet, or forgotten? Ask whoever runs this installation for a link. <Anchor href="/docs">API reference</Anchor>
        </Text>
      </Stack>
    </DoorFrame>
  );
}

export async function enter(warning: string | null) {
  if (warning) notifications.show({ color: "orange", title: "Not encrypted", message: warning, autoClose: false });
  await queries.invalidateQueries({ queryKey: sessionQuery.queryKey });
}
