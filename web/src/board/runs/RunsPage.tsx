import { Button, Group, SegmentedControl, SimpleGrid, Skeleton } from "@mantine/core";
import { IconBinaryTree, IconPlus } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { usePolling } from "@/app/live";
import { EmptyState } from "@/parts/EmptyState";
import { PageHead } from "@/parts/PageHead";
import { Problem } from "@/parts/Problem";
import { runsQuery, useLiveRuns } from "../data";
import { RunCard } from "./RunCard";

const FILTERS = [
  { value: "all", label: "All" },
  { value: "running", label: "Running" },
  { value: "waiting_for_approval", label: "Wait for you" },
  { value: "completed", label: "Finished" },
];

export function RunsPage() {
  const [filter, setFilter] = useState("all");
  const status = filter === "all" ? null : (filter as "running" | "waiting_for_approval" | "completed");
  const found = useQuery({ ...runsQuery(status), refetchInterval: usePolling() });
  useLiveRuns();
  const start = <Button component={Link} to="/runs/new" leftSection={<IconPlus size={16} />}>New run</Button>;
  return (
    <>
      <PageHead title="Runs" text="Pictures made, ranked and refined, while you sleep.">{start}</PageHead>
      <Group mb="md" style={{ overflowX: "auto" }}>
        <SegmentedControl data={FILTERS} value={filter} onChange={setFilter} aria-label="Which runs" size="sm" />
      </Group>
      {found.isError && <Problem problem={found.error} again={() => void found.refetch()} />}
      {found.isPending && <SimpleGrid cols={{ base: 1, md: 2, xl: 3 }}>{[0, 1, 2].map((each) => <Skeleton key={each} h={190} />)}</SimpleGrid>}
      {found.data?.runs.length === 0 && (
        <EmptyState
          icon={IconBinaryTree}
          title={filter === "all" ? "No runs yet" : "None at the moment"}
          text="A run makes many candidates, lets you choose the best, and refines them step by step."
        >
          {filter === "all" && start}
        </EmptyState>
      )}
      <SimpleGrid cols={{ base: 1, md: 2, xl: 3 }} component="ul" style={{ listStyle: "none", padding: 0, margin: 0 }}>
        {found.data?.runs.map((run) => <RunCard key={run.id} run={run} />)}
      </SimpleGrid>
    </>
  );
}
