import { Button, SimpleGrid, Skeleton, Stack } from "@mantine/core";
import { IconPhotoPlus } from "@tabler/icons-react";
import { useInfiniteQuery } from "@tanstack/react-query";
import { usePolling } from "@/app/live";
import { getOffersInfiniteOptions } from "@/client/@tanstack/react-query.gen";
import { EmptyState } from "@/parts/EmptyState";
import { Loading } from "@/parts/Loading";
import { PageHead } from "@/parts/PageHead";
import { Problem } from "@/parts/Problem";
import { EffectCard } from "./EffectCard";

// Preview URLs live for some minutes; a gallery that was left open shows them anew.
const FRESH_MS = 5 * 60_000;

export function GalleryPage() {
  const polling = usePolling();
  const offers = useInfiniteQuery({
    ...getOffersInfiniteOptions({ query: { limit: 50 } }),
    initialPageParam: {},
    getNextPageParam: (page) => (page.next_cursor ? { query: { cursor: page.next_cursor } } : undefined),
    staleTime: FRESH_MS,
    // Each reading brings other URLs of the same previews: not every two seconds, but for those that are missing.
    refetchInterval: ({ state }) => (state.data?.pages.some((page) => page.effects.some((each) => each.preview_url === null)) && polling) || FRESH_MS,
  });
  const effects = offers.data?.pages.flatMap((page) => page.effects) ?? [];
  return (
    <>
      <PageHead title="Effects" text="Pick one, add your picture, clip or words, and see what comes out." />
      {offers.isError && <Problem problem={offers.error} again={() => void offers.refetch()} />}
      {offers.isPending && <Waiting />}
      {offers.data && effects.length === 0 && (
        <EmptyState icon={IconPhotoPlus} title="No effects yet" text="Whoever runs this installation publishes them in the console." />
      )}
      <SimpleGrid cols={{ base: 1, xs: 2, md: 3, xl: 4 }} spacing="lg" component="ul" p={0} m={0} style={{ listStyle: "none" }}>
        {effects.map((effect) => <EffectCard key={effect.id} effect={effect} />)}
      </SimpleGrid>
      {offers.hasNextPage && (
        <Stack align="center" mt="xl">
          <Button variant="default" loading={offers.isFetchingNextPage} onClick={() => void offers.fetchNextPage()}>More effects</Button>
        </Stack>
      )}
    </>
  );
}

function Waiting() {
  return (
    <Loading what="Loading effects">
      <SimpleGrid cols={{ base: 1, xs: 2, md: 3, xl: 4 }} spacing="lg">
        {[1, 2, 3, 4, 5].map((each) => <Skeleton key={each} h={280} radius={14} />)}
      </SimpleGrid>
    </Loading>
  );
}
