/** Into the clipboard; also over plain http on an office network, where browsers have no `navigator.clipboard`. */
import { notifications } from "@mantine/notifications";
import { useState } from "react";

const SAID_MS = 2_000;

/** False: the browser did not let us. */
export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // There is none, or it may not be used: the older way asks for no more than a click.
    return copyBySelecting(text);
  }
}

function copyBySelecting(text: string): boolean {
  const focused = document.activeElement;
  const area = document.createElement("textarea");
  area.value = text;
  area.readOnly = true;
  area.setAttribute("aria-hidden", "true");
  area.style.cssText = "position: fixed; top: 0; opacity: 0";
  document.body.append(area);
  area.select();
  try {
    // Deprecated, and the only way there is without https.
    return document.execCommand("copy");
  } catch {
    return false;
  } finally {
    area.remove();
    if (focused instanceof HTMLElement) focused.focus();
  }
}

/** `copied` for a moment after it worked; where it did not, that is said. */
export function useCopy(value: string): { copied: boolean; copy: () => void } {
  const [copied, setCopied] = useState(false);
  async function copy() {
    if (await copyText(value)) {
      setCopied(true);
      window.setTimeout(() => setCopied(false), SAID_MS);
    } else {
      notifications.show({ color: "orange", title: "Not copied", message: "Your browser does not allow it. Select the text and press Ctrl+C." });
    }
  }
  return { copied, copy: () => void copy() };
}
