/** How somebody who has too few tokens gets more: each installation has its own way. */
import { Button } from "@mantine/core";
import { useInstallation } from "../installation";

/** In words; empty where the button says it all. */
export function useWayToMore(): string {
  const installation = useInstallation();
  return installation?.get_tokens_text ?? (installation?.get_tokens_url ? "" : "Ask whoever runs this installation for more.");
}

export function MoreTokensButton() {
  const url = useInstallation()?.get_tokens_url;
  if (!url) return null;
  return <Button size="compact-sm" component="a" href={url} target="_blank" rel="noreferrer">Get tokens</Button>;
}
