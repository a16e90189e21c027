import { Alert, Anchor, Button, Group, Text } from "@mantine/core";
import { IconCoin } from "@tabler/icons-react";
import { Link } from "@tanstack/react-router";
import { useInstallation } from "@/studio/installation";

/** This installation's way to more tokens, for a run that stands still without them. */
export function MoreTokens() {
  const installation = useInstallation();
  if (!installation) return null;
  const url = installation.get_tokens_url;
  const text = installation.get_tokens_text ?? (url ? null : "Ask whoever runs this installation for more.");
  return (
    <Alert color="orange" mb="md" icon={<IconCoin size={18} />} title="More tokens">
      {text && <Text size="sm" mb="xs">{text}</Text>}
      <Group gap="xs">
        {url && <Button size="compact-sm" component="a" href={url} target="_blank" rel="noreferrer">Get tokens</Button>}
        <Anchor size="sm" component={Link} to="/wallet">See your wallet</Anchor>
      </Group>
    </Alert>
  );
}
