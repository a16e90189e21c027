import { Button, Center, Group, SegmentedControl, SimpleGrid, Skeleton } from "@mantine/core";
import { IconBinaryTree, IconPlus } from "@tabler/icons-react";
import { useInfiniteQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { usePolling } from "@/app/live";
import { EmptyState } from "@/parts/EmptyState";
import { moreOf } from "@/parts/Listing";
import { Loading } from "@/parts/Loading";
import { PageHead } from "@/parts/PageHead";
import { Problem } from "@/parts/Problem";
import { runsQuery, useLiveRuns } from "../data";
import { runsOf, type Filter } from "./lists";
import { RunCard } from "./RunCard";

const ALL = "all";
const FILTERS: { value: NonNullable<Filter> | typeof ALL; label: string }[] = [
  { value: ALL, label: "All" },
  { value: "running", label: "Running" },
  { value: "waiting_for_approval", label: "Wait for you" },
  { value: "paused", label: "Paused" },
  { value: "completed", label: "Finished" },
  { value: "failed", label: "Failed" },
  { value: "stopped", label: "Stopped" },
];

export function RunsPage() {
  const [filter, setFilter] = useState<Filter>(null);
  const found = useInfiniteQuery({ ...runsQuery(filter), refetchInterval: usePolling() });
  useLiveRuns();
  const runs = found.data && runsOf(found.data);
  const more = moreOf(found);
  const start = <Button component={Link} to="/runs/new" leftSection={<IconPlus size={16} />}>New run</Button>;
  return (
    <>
      <PageHead title="Runs" text="Pictures made, ranked and refined, while you sleep.">{start}</PageHead>
      <Group mb="md" style={{ overflowX: "auto" }}>
        <SegmentedControl data={FILTERS} value={filter ?? ALL} onChange={(value) => setFilter(value === ALL ? null : value)} aria-label="Which runs" size="sm" />
      </Group>
      {found.isError && <Problem problem={found.error} again={() => void found.refetch()} />}
      {found.isPending && <Loading><SimpleGrid cols={{ base: 1, md: 2, xl: 3 }}>{[0, 1, 2].map((each) => <Skeleton key={each} h={190} />)}</SimpleGrid></Loading>}
      {runs?.length === 0 && (
        <EmptyState
          icon={IconBinaryTree}
          title={filter === null ? "No runs yet" : "None at the moment"}
          text="A run makes many candidates, lets you choose the best, and refines them step by step."
        >
          {filter === null && start}
        </EmptyState>
      )}
      <SimpleGrid cols={{ base: 1, md: 2, xl: 3 }} component="ul" style={{ listStyle: "none", padding: 0, margin: 0 }}>
        {runs?.map((run) => <RunCard key={run.id} run={run} />)}
      </SimpleGrid>
      {more.has && <Center mt="md"><Button variant="default" loading={more.busy} onClick={more.load}>Show more</Button></Center>}
    </>
  );
}
