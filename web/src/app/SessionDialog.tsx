import { Modal, Stack, Text } from "@mantine/core";
import { LoginForm } from "./LoginForm";
import { enter } from "./LoginPage";
import { hasSessionEnded, sessionRestored, useSessionEnded, type Me } from "./session";

// Above every dialog and drawer: one of them may be what somebody was in the middle of.
const ABOVE_ALL = 1_000;

// Escape would close the dialog underneath, and with it what was typed there. Dialogs listen at the window too, so this
// has to be there before the first of them.
window.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && hasSessionEnded()) event.stopImmediatePropagation();
}, { capture: true });

/** Over the page, which stays as it is: nothing that was typed is lost. */
export function SessionDialog({ me }: { me: Me }) {
  const ended = useSessionEnded();
  return (
    <Modal opened={ended} onClose={() => undefined} withCloseButton={false} closeOnEscape={false} closeOnClickOutside={false} zIndex={ABOVE_ALL} title="Your session has ended">
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
