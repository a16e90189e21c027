import { Button, Code, Drawer, Group, Stack, Text, Title } from "@mantine/core";
import { IconRefresh } from "@tabler/icons-react";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useNotice, usePolling } from "@/app/live";
import { isAdmin, useSignedIn } from "@/app/session";
import { replayDelivery } from "@/client";
import { getDeliveryOptions } from "@/client/@tanstack/react-query.gen";
import { Ago } from "@/parts/Ago";
import { tellDone } from "@/parts/ConfirmAction";
import { NotYet } from "@/parts/NotYet";
import { Problem } from "@/parts/Problem";
import { StatusBadge } from "@/parts/StatusBadge";
import { secondsText } from "@/parts/times";

export function DeliveryStory({ deliveryId, close, changed }: { deliveryId: string | null; close: () => void; changed: () => void }) {
  return (
    <Drawer opened={deliveryId !== null} onClose={close} position="right" size="lg" title="Delivery">
      {deliveryId !== null && <Story deliveryId={deliveryId} changed={changed} />}
    </Drawer>
  );
}

function Story({ deliveryId, changed }: { deliveryId: string; changed: () => void }) {
  const path = { delivery_id: deliveryId };
  const polling = usePolling();
  const mayReplay = isAdmin(useSignedIn());
  const found = useQuery({ ...getDeliveryOptions({ path }), refetchInterval: ({ state }) => (state.data?.delivery.ended_at === null ? polling : false) });
  useNotice("delivery", () => found.refetch());
  const replay = useMutation({
    mutationFn: () => replayDelivery({ path, throwOnError: true }),
    onSuccess: () => { void found.refetch(); changed(); tellDone("It will be sent again."); },
  });
  if (!found.data) return <NotYet of={found} h={240} />;
  const { delivery, attempts, payload } = found.data;
  // An answer is the only sign that it went out: before that there may have been no connection.
  const wasSent = attempts.some((each) => each.response_status !== null);
  const sending = wasSent ? "What was sent" : delivery.ended_at === null ? "What is to be sent" : "What was to be sent";
  return (
    <Stack>
      <Group justify="space-between">
        <Group gap="xs"><StatusBadge status={delivery.status} /><Text className="mono">{delivery.event_type}</Text></Group>
        {mayReplay && <Button leftSection={<IconRefresh size={16} />} loading={replay.isPending} onClick={() => replay.mutate()}>Send again</Button>}
      </Group>
      {replay.isError && <Problem problem={replay.error} />}
      <Title order={3} size="h4">Tries</Title>
      {attempts.length === 0 && <Text size="sm" className="quiet">None yet.</Text>}
      {attempts.map((each) => (
        <Group key={each.number} justify="space-between" wrap="nowrap" align="start">
          <Text size="sm">{each.number}. {each.response_status !== null ? `answered ${each.response_status}` : (each.error ?? "no answer")}</Text>
          <Text size="sm" className="quiet">{secondsText(each.duration_ms / 1000)} · <Ago at={each.created_at} /></Text>
        </Group>
      ))}
      <Title order={3} size="h4">{sending}</Title>
      <Code block tabIndex={0}>{JSON.stringify(payload, null, 2)}</Code>
    </Stack>
  );
}
