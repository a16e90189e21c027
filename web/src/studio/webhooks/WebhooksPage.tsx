import { Button, Group, Stack, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconPlus, IconWebhook } from "@tabler/icons-react";
import { useInfiniteQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { EndpointView } from "@/client";
import { getWebhooksInfiniteOptions, getWebhooksQueryKey } from "@/client/@tanstack/react-query.gen";
import { Ago } from "@/parts/Ago";
import { EmptyState } from "@/parts/EmptyState";
import { Loading } from "@/parts/Loading";
import { PageHead } from "@/parts/PageHead";
import { Problem } from "@/parts/Problem";
import { StatusBadge } from "@/parts/StatusBadge";
import { AdminsOnly } from "./AdminsOnly";
import { NewEndpoint } from "./NewEndpoint";
import classes from "./Webhooks.module.css";

export function WebhooksPage() {
  return <AdminsOnly><Endpoints /></AdminsOnly>;
}

function Endpoints() {
  const [adding, { open, close }] = useDisclosure();
  const queries = useQueryClient();
  const found = useInfiniteQuery({
    ...getWebhooksInfiniteOptions({ query: { limit: 50 } }),
    initialPageParam: {},
    getNextPageParam: (page) => (page.next_cursor ? { query: { cursor: page.next_cursor } } : undefined),
  });
  const endpoints = found.data?.pages.flatMap((page) => page.endpoints) ?? [];
  return (
    <>
      <PageHead title="Webhooks" text="Addresses of yours that are told what happens, signed and tried again until they answer.">
        <Button leftSection={<IconPlus size={16} />} onClick={open}>Add an address</Button>
      </PageHead>
      {found.isError && <Problem problem={found.error} again={() => void found.refetch()} />}
      {found.isPending && <Loading h={160} />}
      {found.data && endpoints.length === 0 && <EmptyState icon={IconWebhook} title="Nobody is told yet" text="Add an address, and each job's end is POSTed to it." />}
      <Stack gap="sm" component="ul" p={0} m={0}>{endpoints.map((each) => <Row key={each.id} endpoint={each} />)}</Stack>
      {found.hasNextPage && (
        <Group justify="center" mt="md">
          <Button variant="default" loading={found.isFetchingNextPage} onClick={() => void found.fetchNextPage()}>Show more</Button>
        </Group>
      )}
      <NewEndpoint opened={adding} close={close} made={() => void queries.invalidateQueries({ queryKey: getWebhooksQueryKey() })} />
    </>
  );
}

function Row({ endpoint }: { endpoint: EndpointView }) {
  return (
    <li className={classes.item}>
      <Link to="/webhooks/$endpointId" params={{ endpointId: endpoint.id }} className={`surface ${classes.row}`}>
        <div className={classes.words}>
          <Text fw={600} truncate>{endpoint.url}</Text>
          <Text size="sm" className="quiet" truncate>{endpoint.description || (endpoint.event_types?.join(", ") ?? "all kinds of events")} · added <Ago at={endpoint.created_at} /></Text>
        </div>
        <Group><Standing endpoint={endpoint} /></Group>
      </Link>
    </li>
  );
}

export function Standing({ endpoint }: { endpoint: EndpointView }) {
  return <StatusBadge status={endpoint.is_active ? "active" : "paused"} />;
}
