import { Anchor, Grid, Group, Skeleton, Stack, Text, Title } from "@mantine/core";
import { IconMoodEmpty } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { Link, useParams } from "@tanstack/react-router";
import { faultOf } from "@/app/errors";
import { usePolling } from "@/app/live";
import type { OfferView } from "@/client";
import { getOfferOptions } from "@/client/@tanstack/react-query.gen";
import { BackLink } from "@/parts/BackLink";
import { EmptyState } from "@/parts/EmptyState";
import { Loading } from "@/parts/Loading";
import { Media } from "@/parts/Media";
import { PageHead } from "@/parts/PageHead";
import { Problem } from "@/parts/Problem";
import { Tokens } from "@/parts/Tokens";
import { durationText } from "@/parts/times";
import classes from "./EffectPage.module.css";
import { OrderForm } from "./OrderForm";

export function EffectPage() {
  const { slug = "" } = useParams({ strict: false });
  const polling = usePolling();
  const offer = useQuery({
    ...getOfferOptions({ path: { effect_slug: slug } }),
    refetchOnMount: "always",
    // Only for whoever waits for it: each reading brings another URL of its preview.
    refetchInterval: ({ state }) => (state.data && (state.data.unavailable_because ?? state.data.waits_because) !== null ? polling : false),
  });
  // Once it was there, the form stays: somebody may be filling it in.
  if (offer.data) return <Effect effect={offer.data} gone={isGone(offer.error) ? offer.error : null} />;
  if (offer.isError) {
    return isGone(offer.error) ? (
      <EmptyState icon={IconMoodEmpty} title="This effect is not offered" text="It may have been taken back, or the link is not complete.">
        <Anchor component={Link} to="/">See all effects</Anchor>
      </EmptyState>
    ) : (
      <Problem problem={offer.error} again={() => void offer.refetch()} />
    );
  }
  return (
    <Loading>
      <Grid gap="xl">
        <Grid.Col span={{ base: 12, md: 6 }}><Skeleton h={380} /></Grid.Col>
        <Grid.Col span={{ base: 12, md: 6 }}><Skeleton h={380} /></Grid.Col>
      </Grid>
    </Loading>
  );
}

const isGone = (problem: unknown) => faultOf(problem).code === "not_found";

function Effect({ effect, gone }: { effect: OfferView; gone: unknown }) {
  return (
    <>
      <BackLink to="/">All effects</BackLink>
      <PageHead title={effect.name} text={effect.description} />
      <Grid gap="xl">
        <Grid.Col span={{ base: 12, md: 6 }} order={{ base: 2, md: 1 }}>
          <OrderForm key={effect.slug} effect={effect} gone={gone} />
        </Grid.Col>
        <Grid.Col span={{ base: 12, md: 6 }} order={{ base: 1, md: 2 }}>
          <Stack className={classes.aside}>
            <div className={`surface ${classes.preview}`}>
              <Media url={effect.preview_url} mimeType={effect.preview_mime_type} alt={`What ${effect.name} makes`} />
            </div>
            <Group gap="xl">
              <Fact name="Price"><Tokens amount={effect.credits_cost} /></Fact>
              <Fact name="Takes">{durationText(effect.estimated_seconds)}</Fact>
            </Group>
            <Text size="sm" className="quiet" visibleFrom="md">The price is set aside when you start, and comes back in full if nothing comes out.</Text>
          </Stack>
        </Grid.Col>
      </Grid>
    </>
  );
}

function Fact({ name, children }: { name: string; children: React.ReactNode }) {
  return (
    <div>
      <Text size="xs" className="quiet">{name}</Text>
      <Title order={2} size="h3" component="p">{children}</Title>
    </div>
  );
}
