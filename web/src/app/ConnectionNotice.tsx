import { Button, Group, Paper, Text, Transition } from "@mantine/core";
import { IconPlugConnectedX } from "@tabler/icons-react";
import classes from "./ConnectionNotice.module.css";
import { live, useConnection } from "./live";
import { isOperator, type Me } from "./session";

/** Quiet: what is on the page stays true, and pages go on asking. */
export function ConnectionNotice({ me }: { me: Me }) {
  const lost = useConnection() === "lost";
  return (
    <>
      {/* So that what stands at the end of a page can be scrolled out from under it. */}
      {lost && <div className={classes.room} />}
      <div role="status" aria-live="polite" className={classes.place}>
        <Transition mounted={lost} transition="slide-up">
          {(styles) => (
            <Paper style={styles} className={`surface ${classes.notice}`} shadow="md" px="md" py="xs">
              <Group gap="sm" wrap="nowrap">
                <IconPlugConnectedX size={18} aria-hidden />
                <Text size="sm">Connection lost. {isOperator(me) ? "The fleet goes on" : "Your jobs go on"}; this page comes back by itself.</Text>
                <Button size="compact-sm" variant="light" onClick={live.tryNow}>Try now</Button>
              </Group>
            </Paper>
          )}
        </Transition>
      </div>
    </>
  );
}
