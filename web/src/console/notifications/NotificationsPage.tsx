/** What is wrong, who is told of it, and what was sent. */
import { Checkbox, Group, SegmentedControl, Stack, Text, Textarea, TextInput } from "@mantine/core";
import { IconBellOff, IconCircleCheck, IconMailOff } from "@tabler/icons-react";
import { useState } from "react";
import {
  adminCreateNotificationChannel, adminDeleteNotificationChannel, adminDisableNotificationChannel, adminEnableNotificationChannel,
  adminGetAlerts, adminGetNotificationChannels, adminGetNotifications, adminTestNotificationChannel,
  type AlertView, type ChannelView, type NotificationView,
} from "@/client";
import { Ago } from "@/parts/Ago";
import { ConfirmAction, tellDone } from "@/parts/ConfirmAction";
import { EmptyState } from "@/parts/EmptyState";
import { Listing, moreOf, type Column } from "@/parts/Listing";
import { PageHead } from "@/parts/PageHead";
import { StatusBadge } from "@/parts/StatusBadge";
import { Act } from "../parts/Act";
import { FormAction } from "../parts/Fields";
import { Panel } from "../parts/Panel";
import { then, useFresh, usePages, useRead } from "../parts/reading";
import { ShownOnce } from "../parts/ShownOnce";

export function NotificationsPage() {
  return (
    <>
      <PageHead title="Notifications" text="Alerts of the fleet and the control plane, and where operators hear of them." />
      <Stack gap="lg">
        <Alerts />
        <Channels />
        <Log />
      </Stack>
    </>
  );
}

const ALERTS: Column<AlertView>[] = [
  { name: "State", cell: (row) => <StatusBadge status={row.state} /> },
  { name: "Alert", cell: (row) => <><Text size="sm" fw={550}>{row.condition}</Text>{row.subject && <Text size="xs" className="quiet">{row.subject}</Text>}</> },
  { name: "Details", cell: (row) => <><Text size="sm">{row.text}</Text><Text size="xs" className="quiet">{row.summary} What to do: <span className="mono">{row.runbook}</span></Text></> },
  { name: "Severity", cell: (row) => row.severity },
  { name: "Since", cell: (row) => <Ago at={row.since} /> },
];

function Alerts() {
  const found = useRead(["alerts"], () => adminGetAlerts({ throwOnError: true }));
  useFresh("alerts");
  return (
    <Panel title="Alerts" text="An alert is pending until its condition has held for a while, then it fires; it is resolved when the condition has not held for longer.">
      <Listing label="Alerts" columns={ALERTS} rows={found.data?.alerts} keyOf={(row) => row.id} problem={found.error} again={() => void found.refetch()}
        empty={<EmptyState icon={IconCircleCheck} title="No alerts" text="Nothing has been wrong within the retention." />} />
    </Panel>
  );
}

const CHANNELS: Column<ChannelView>[] = [
  { name: "Channel", cell: (row) => <><Text size="sm" fw={550}>{row.name}</Text><Text size="xs" className="quiet mono">{row.target}</Text></> },
  { name: "By", cell: (row) => row.kind },
  { name: "Hears of", cell: (row) => (row.only_pages ? "pages" : "pages and tickets") },
  { name: "State", cell: (row) => <><StatusBadge status={row.is_active ? "active" : "disabled"} />{row.disabled_reason && <Text size="xs" className="quiet">{row.disabled_reason}</Text>}</> },
  {
    name: "",
    end: true,
    cell: (row) => {
      const path = { channel_id: row.id };
      return (
        <Group gap="xs" justify="end">
          {row.is_active && <Act size="compact-sm" label="Send a test" act={() => adminTestNotificationChannel({ path, throwOnError: true })} done={`A test goes to ${row.name}. Its outcome is in the log.`} />}
          {row.is_active
            ? <Act size="compact-sm" label="Disable" act={() => adminDisableNotificationChannel({ path, throwOnError: true })} done={`Nothing more is sent to ${row.name}.`} undo={() => adminEnableNotificationChannel({ path, throwOnError: true })} />
            : <Act size="compact-sm" label="Enable" act={() => adminEnableNotificationChannel({ path, throwOnError: true })} done={`${row.name} is on.`} />}
          <ConfirmAction size="compact-sm" label="Delete" question={`Delete “${row.name}”?`} text="Nothing more is sent there, and what waits is dropped. The log stays."
            act={then(() => adminDeleteNotificationChannel({ path, throwOnError: true }))} done={`“${row.name}” is deleted.`} />
        </Group>
      );
    },
  },
];

function Channels() {
  const found = useRead(["notification-channels"], () => adminGetNotificationChannels({ throwOnError: true }));
  return (
    <Panel title="Channels" text="Each change of an alert is sent once to each channel." side={<NewChannel />}>
      <Listing label="Channels" columns={CHANNELS} rows={found.data?.channels} keyOf={(row) => row.id} problem={found.error} again={() => void found.refetch()}
        empty={<EmptyState icon={IconBellOff} title="No channels" text="Alerts fire, and no operator is notified. Add a webhook or mail addresses." />} />
    </Panel>
  );
}

type Kind = "webhook" | "mail";

function NewChannel() {
  const [name, setName] = useState("");
  const [kind, setKind] = useState<Kind>("webhook");
  const [target, setTarget] = useState("");
  const [onlyPages, setOnlyPages] = useState(false);
  const [secret, setSecret] = useState<string | null>(null);
  const create = async () => {
    const { data } = await adminCreateNotificationChannel({ body: { name, kind, target, only_pages: onlyPages }, throwOnError: true });
    setSecret(data.secret ?? null);
  };
  return (
    <>
      <FormAction label="New channel" title="A new channel" send="Create" primary disabled={!name || !target} act={create}
        onDone={() => { tellDone(`Channel ${name} is there.`); setName(""); setTarget(""); }}>
        <TextInput label="Name" description="Such as pager." value={name} onChange={(event) => setName(event.currentTarget.value)} required data-autofocus />
        <SegmentedControl aria-label="How it is reached" value={kind} onChange={setKind} data={[{ value: "webhook", label: "Webhook" }, { value: "mail", label: "Mail" }]} />
        <Textarea label={kind === "webhook" ? "URL" : "Mail addresses"} description={kind === "webhook" ? "Messages are signed as the Standard Webhooks describe." : "Several with commas."} autosize
          value={target} onChange={(event) => setTarget(event.currentTarget.value)} required />
        <Checkbox label="Only pages" description="No tickets, such as a disk that fills." checked={onlyPages} onChange={(event) => setOnlyPages(event.currentTarget.checked)} />
      </FormAction>
      <ShownOnce title="The channel's secret" text="Its receiver verifies messages with this secret. It is not shown again." label="Copy secret" value={secret} close={() => setSecret(null)} />
    </>
  );
}

const LOG: Column<NotificationView>[] = [
  { name: "When", cell: (row) => <Ago at={row.created_at} /> },
  { name: "What", cell: (row) => <><Text size="sm" fw={550}>{row.condition ? `${row.condition} ${row.kind}` : row.kind}</Text>{row.subject && <Text size="xs" className="quiet">{row.subject}</Text>}</> },
  { name: "Channel", cell: (row) => row.channel },
  { name: "Status", cell: (row) => <StatusBadge status={row.status} /> },
  { name: "Tries", end: true, cell: (row) => row.attempts },
  { name: "Error", cell: (row) => row.last_error ?? "–" },
];

function Log() {
  const found = usePages(["notifications"], async (cursor) => {
    const { data } = await adminGetNotifications({ query: { limit: 50, cursor }, throwOnError: true });
    return { rows: data.notifications, next: data.next_cursor };
  });
  return (
    <Panel title="Log" text="What was sent, to whom, and what became of it.">
      <Listing label="Notifications" columns={LOG} rows={found.rows} keyOf={(row) => row.id} problem={found.error} again={() => void found.refetch()} more={moreOf(found)}
        empty={<EmptyState icon={IconMailOff} title="Nothing was sent yet" />} />
    </Panel>
  );
}
