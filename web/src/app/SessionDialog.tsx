import { Modal, Stack, Text } from "@mantine/core";
import { LoginForm } from "./LoginForm";
import { enter } from "./LoginPage";
import { sessionRestored, useSessionEnded, type Me } from "./session";

/** Over the page, which stays as it is: nothing that was typed is lost. */
export function SessionDialog({ me }: { me: Me }) {
  const ended = useSessionEnded();
  return (
    <Modal opened={ended} onClose={() => undefined} withCloseButton={false} closeOnEscape={false} closeOnClickOutside={false} title="Your session has ended">
      <Stack>
        <Text size="sm">Log in again and go on where you were. What you entered is still there.</Text>
        <LoginForm
          email={me.email}
          done={(email, warning) => {
            // Somebody else: nothing of this page is theirs.
            if (email.trim().toLowerCase() !== me.email.toLowerCase()) return location.assign("/");
            sessionRestored();
            void enter(warning);
          }}
        />
      </Stack>
    </Modal>
  );
}
