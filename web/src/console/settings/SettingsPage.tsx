import { Badge, Group, Switch, Text, TextInput } from "@mantine/core";
import { IconAdjustments, IconSearch } from "@tabler/icons-react";
import { useState } from "react";
import { adminGetSettings, type SettingView } from "@/client";
import { EmptyState } from "@/parts/EmptyState";
import { PageHead } from "@/parts/PageHead";
import { Listing, type Column } from "@/parts/Listing";
import { Marked } from "../parts/Marked";
import { useRead } from "../parts/reading";

function valueText(setting: SettingView): string {
  if (setting.is_secret && setting.name !== "pools") return setting.is_set ? "set, not shown" : "not set";
  if (setting.value === null || setting.value === undefined) return "not set";
  return typeof setting.value === "string" ? setting.value : JSON.stringify(setting.value);
}

const COLUMNS: Column<SettingView>[] = [
  { name: "Setting", cell: (row) => <><span className="mono" style={{ fontWeight: 600 }}>{row.name}</span><Text size="xs" className="quiet" maw={520}><Marked text={row.description} /></Text></> },
  { name: "Value", cell: (row) => <span className="mono">{valueText(row)}</span> },
  { name: "From", cell: (row) => <Badge variant="light" tt="none" fw={550} color={row.source === "default" ? "gray" : "sun"}>{row.source}</Badge> },
];

export function SettingsPage() {
  const [text, setText] = useState("");
  const [changed, setChanged] = useState(false);
  const found = useRead(["settings"], () => adminGetSettings({ throwOnError: true }));
  const shown = found.data?.settings.filter((each) => (!changed || each.source !== "default") && `${each.name} ${each.description}`.toLowerCase().includes(text.toLowerCase()));
  return (
    <>
      <PageHead title="Settings" text="What this replica runs with. They are changed in its environment or its file, and hold after a restart." />
      <Group mb="md" gap="lg">
        <TextInput aria-label="Search settings" placeholder="Search" leftSection={<IconSearch size={16} />} value={text} onChange={(event) => setText(event.currentTarget.value)} w={280} />
        <Switch label="Only what is not a default" checked={changed} onChange={(event) => setChanged(event.currentTarget.checked)} />
      </Group>
      <Listing label="Settings" columns={COLUMNS} rows={shown} keyOf={(row) => row.name} problem={found.error} again={() => void found.refetch()} empty={<EmptyState icon={IconAdjustments} title="No such setting" />} />
    </>
  );
}
