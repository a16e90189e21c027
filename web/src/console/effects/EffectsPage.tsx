import { Button, Card, Group, SimpleGrid, Stack, Text } from "@mantine/core";
import { IconPlus, IconSparkles } from "@tabler/icons-react";
import { Link } from "@tanstack/react-router";
import { adminGetEffects, type EffectView } from "@/client";
import { EmptyState } from "@/parts/EmptyState";
import { NotYet } from "@/parts/NotYet";
import { PageHead } from "@/parts/PageHead";
import { StatusBadge } from "@/parts/StatusBadge";
import { Tokens } from "@/parts/Tokens";
import { asSentence } from "@/parts/sentences";
import { usePages } from "../parts/reading";
import { EffectPicture } from "./EffectPicture";

export function EffectsPage() {
  const found = usePages(["effects"], async (cursor) => {
    const { data } = await adminGetEffects({ query: { limit: 60, cursor }, throwOnError: true });
    return { rows: data.effects, next: data.next_cursor };
  });
  return (
    <>
      <PageHead title="Effects" text="What users pick: a workflow, what is fixed in it, and a price.">
        <Button leftSection={<IconPlus size={16} />} renderRoot={(props) => <Link to="/console/effects/new" {...props} />}>New effect</Button>
      </PageHead>
      {found.rows === undefined ? <NotYet of={found} h={260} />
        : found.rows.length === 0 ? <EmptyState icon={IconSparkles} title="No effect yet" text="Make one from a workflow; users see it once it is published." /> : (
          <Stack>
            <SimpleGrid cols={{ base: 1, xs: 2, md: 3, xl: 5 }} spacing="md">{found.rows.map((each) => <EffectCard key={each.id} effect={each} />)}</SimpleGrid>
            {found.hasNextPage && <Button variant="default" mx="auto" loading={found.isFetchingNextPage} onClick={() => void found.fetchNextPage()}>Show more</Button>}
          </Stack>
        )}
    </>
  );
}

function EffectCard({ effect }: { effect: EffectView }) {
  return (
    <Card className="surface" padding="md" radius={14} renderRoot={(props) => <Link to="/console/effects/$slug" params={{ slug: effect.slug }} {...props} />}>
      <Card.Section><EffectPicture effect={effect} /></Card.Section>
      <Group justify="space-between" mt="sm" gap={6} wrap="nowrap">
        <Text fw={600} truncate>{effect.name}</Text>
        <Tokens amount={effect.credits_cost} />
      </Group>
      <Group justify="space-between" gap={6} mt={4}>
        <Text size="xs" className="quiet mono">{effect.workflow}</Text>
        <StatusBadge status={effect.is_published ? "published" : "draft"} />
      </Group>
      {effect.unavailable_because && <Text size="xs" c="var(--mantine-color-error)" mt={6}>{asSentence(effect.misfit === null ? effect.lacks ?? effect.unavailable_because : effect.unavailable_because)}</Text>}
      {effect.waits_because && <Text size="xs" className="quiet" mt={6}>{asSentence(effect.waits_because)}</Text>}
    </Card>
  );
}
