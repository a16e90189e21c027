import { ActionIcon, Tooltip } from "@mantine/core";
import { IconCheck, IconCopy } from "@tabler/icons-react";
import { useCopy } from "@/parts/copying";

export function Copy({ value, label = "Copy" }: { value: string; label?: string }) {
  const { copied, copy } = useCopy(value);
  return (
    <Tooltip label={copied ? "Copied" : label}>
      <ActionIcon variant="subtle" color="gray" onClick={copy} aria-label={copied ? "Copied" : label}>
        {copied ? <IconCheck size={16} /> : <IconCopy size={16} />}
      </ActionIcon>
    </Tooltip>
  );
}

/** A line to copy into a terminal, or a secret that is shown once. */
export function CopyLine({ value, label }: { value: string; label: string }) {
  return (
    <div style={{ display: "flex", gap: "0.5rem", alignItems: "start", padding: "0.75rem 0.5rem 0.75rem 1rem", borderRadius: 10, background: "light-dark(#f3f1ed, #262521)" }}>
      <code className="mono" style={{ flex: 1, minWidth: 0, whiteSpace: "pre-wrap", overflowWrap: "anywhere" }}>{value}</code>
      <Copy value={value} label={label} />
    </div>
  );
}
