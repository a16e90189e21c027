import { Button, Text, Title } from "@mantine/core";
import { IconMailbox } from "@tabler/icons-react";
import { useInfiniteQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useNotice, usePolling } from "@/app/live";
import { readAgain } from "@/app/queries";
import type { DeliveryView } from "@/client";
import { getDeliveriesInfiniteOptions } from "@/client/@tanstack/react-query.gen";
import { Ago } from "@/parts/Ago";
import { EmptyState } from "@/parts/EmptyState";
import { Listing, moreOf, type Column } from "@/parts/Listing";
import { StatusBadge } from "@/parts/StatusBadge";
import { DeliveryStory } from "./DeliveryStory";
import classes from "./Webhooks.module.css";

export function Deliveries({ endpointId }: { endpointId: string }) {
  const [chosen, setChosen] = useState<string | null>(null);
  const polling = usePolling();
  const options = getDeliveriesInfiniteOptions({ path: { endpoint_id: endpointId }, query: { limit: 50 } });
  const found = useInfiniteQuery({
    ...options,
    initialPageParam: { path: { endpoint_id: endpointId } },
    getNextPageParam: (page) => (page.next_cursor ? { path: { endpoint_id: endpointId }, query: { cursor: page.next_cursor } } : undefined),
    refetchInterval: ({ state }) => (state.data?.pages[0]?.deliveries.some((each) => each.ended_at === null) ? polling : false),
  });
  useNotice("delivery", () => readAgain({ queryKey: options.queryKey }));
  return (
    <>
      <Title order={2} mt="lg" mb="sm">Deliveries</Title>
      <Listing
        label="Deliveries"
        columns={columns(setChosen)}
        rows={found.data?.pages.flatMap((page) => page.deliveries)}
        keyOf={(row) => row.id}
        problem={found.error}
        again={() => void found.refetch()}
        more={moreOf(found)}
        empty={<EmptyState icon={IconMailbox} title="Nothing was sent yet" text="Send a test to see how it looks." />}
      />
      <DeliveryStory deliveryId={chosen} close={() => setChosen(null)} changed={() => void found.refetch()} />
    </>
  );
}

export const columns = (open: (id: string) => void): Column<DeliveryView>[] => [
  { name: "Event", cell: (row) => <span className="mono">{row.event_type}</span> },
  { name: "State", cell: (row) => <StatusBadge status={row.status} /> },
  { name: "Answer", cell: (row) => <Text size="sm" className={classes.answer}>{row.response_status ?? row.last_error ?? "–"}</Text> },
  { name: "Tries", end: true, cell: (row) => row.attempts },
  { name: "When", cell: (row) => <Ago at={row.created_at} /> },
  { name: "Story", end: true, cell: (row) => <Button size="compact-sm" variant="default" onClick={() => open(row.id)}>Look</Button> },
];
