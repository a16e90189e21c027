import { Title } from "@mantine/core";
import { useInfiniteQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useNotice } from "@/app/live";
import { readAgain } from "@/app/queries";
import { getJobDeliveriesInfiniteOptions } from "@/client/@tanstack/react-query.gen";
import { Listing, moreOf } from "@/parts/Listing";
import { columns } from "./Deliveries";
import { DeliveryStory } from "./DeliveryStory";

/** What was sent to the `webhook_url` of one job; nothing where none was named. */
export function JobDeliveries({ jobId }: { jobId: string }) {
  const [chosen, setChosen] = useState<string | null>(null);
  const options = getJobDeliveriesInfiniteOptions({ path: { job_id: jobId }, query: { limit: 50 } });
  const found = useInfiniteQuery({
    ...options,
    initialPageParam: { path: { job_id: jobId } },
    getNextPageParam: (page) => (page.next_cursor ? { path: { job_id: jobId }, query: { cursor: page.next_cursor } } : undefined),
  });
  useNotice("delivery", () => readAgain({ queryKey: options.queryKey }));
  const rows = found.data?.pages.flatMap((page) => page.deliveries) ?? [];
  if (rows.length === 0) return null;
  return (
    <>
      <Title order={2} size="h3" mt="xl" mb="sm">Webhook deliveries</Title>
      <Listing label="Webhook deliveries" columns={columns(setChosen)} rows={rows} keyOf={(row) => row.id} problem={found.error} again={() => void found.refetch()} more={moreOf(found)} empty={null} />
      <DeliveryStory deliveryId={chosen} close={() => setChosen(null)} changed={() => void found.refetch()} />
    </>
  );
}
