import { Button, Group, Skeleton, Table, Text, Title } from "@mantine/core";
import { IconMailbox } from "@tabler/icons-react";
import { useInfiniteQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { DeliveryView } from "@/client";
import { getDeliveriesInfiniteOptions } from "@/client/@tanstack/react-query.gen";
import { Ago } from "@/parts/Ago";
import { EmptyState } from "@/parts/EmptyState";
import { Problem } from "@/parts/Problem";
import { StatusBadge } from "@/parts/StatusBadge";
import { DeliveryStory } from "./DeliveryStory";
import classes from "./Webhooks.module.css";

// Deliveries are not on the stream: one that is still tried is asked for now and then.
const AGAIN_MS = 3_000;

export function Deliveries({ endpointId }: { endpointId: string }) {
  const [chosen, setChosen] = useState<string | null>(null);
  const found = useInfiniteQuery({
    ...getDeliveriesInfiniteOptions({ path: { endpoint_id: endpointId }, query: { limit: 50 } }),
    initialPageParam: { path: { endpoint_id: endpointId } },
    getNextPageParam: (page) => (page.next_cursor ? { path: { endpoint_id: endpointId }, query: { cursor: page.next_cursor } } : undefined),
    refetchInterval: ({ state }) => (state.data?.pages[0]?.deliveries.some((each) => each.ended_at === null) ? AGAIN_MS : false),
  });
  const rows = found.data?.pages.flatMap((page) => page.deliveries) ?? [];
  if (found.isError) return <Problem problem={found.error} again={() => void found.refetch()} />;
  if (found.isPending) return <Skeleton h={200} />;
  return (
    <>
      <Title order={2} mt="lg" mb="sm">Deliveries</Title>
      {rows.length === 0 ? <EmptyState icon={IconMailbox} title="Nothing was sent yet" text="Send a test to see how it looks." /> : (
        <div className={`surface ${classes.table}`} tabIndex={0} role="region" aria-label="Deliveries">
          <Table verticalSpacing="sm" horizontalSpacing="md">
            <Table.Thead><Table.Tr><Table.Th>Event</Table.Th><Table.Th>State</Table.Th><Table.Th>Answer</Table.Th><Table.Th>Tries</Table.Th><Table.Th>When</Table.Th><Table.Th /></Table.Tr></Table.Thead>
            <Table.Tbody>{rows.map((row) => <Row key={row.id} row={row} open={() => setChosen(row.id)} />)}</Table.Tbody>
          </Table>
        </div>
      )}
      {found.hasNextPage && <Group justify="center" mt="md"><Button variant="default" onClick={() => void found.fetchNextPage()}>Older ones</Button></Group>}
      <DeliveryStory deliveryId={chosen} close={() => setChosen(null)} changed={() => void found.refetch()} />
    </>
  );
}

function Row({ row, open }: { row: DeliveryView; open: () => void }) {
  return (
    <Table.Tr>
      <Table.Td className="mono">{row.event_type}</Table.Td>
      <Table.Td><StatusBadge status={row.status} /></Table.Td>
      <Table.Td><Text size="sm" lineClamp={1}>{row.response_status ?? row.last_error ?? "–"}</Text></Table.Td>
      <Table.Td className="numbers">{row.attempts}</Table.Td>
      <Table.Td><Text size="sm" className="quiet"><Ago at={row.created_at} /></Text></Table.Td>
      <Table.Td ta="right"><Button size="compact-sm" variant="default" onClick={open}>Look</Button></Table.Td>
    </Table.Tr>
  );
}
