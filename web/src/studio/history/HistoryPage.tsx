import { Button, Group, Select, Skeleton, Stack, Text } from "@mantine/core";
import { IconHistory, IconSparkles } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import type { JobStatus } from "@/client";
import { getOffersOptions } from "@/client/@tanstack/react-query.gen";
import { EmptyState } from "@/parts/EmptyState";
import { PageHead } from "@/parts/PageHead";
import { Problem } from "@/parts/Problem";
import { JobList } from "./JobList";
import { useHistory } from "./useHistory";

const STATUSES: { value: JobStatus; label: string }[] = [
  { value: "queued", label: "Waiting" },
  { value: "processing", label: "Running" },
  { value: "completed", label: "Completed" },
  { value: "failed", label: "Failed" },
  { value: "cancelled", label: "Cancelled" },
];
type Filters = { status?: JobStatus; effect?: string };

export function HistoryPage() {
  const filters: Filters = useSearch({ strict: false });
  const navigate = useNavigate();
  const offers = useQuery({ ...getOffersOptions({ query: { limit: 100 } }), staleTime: 60_000 });
  const effects = offers.data?.effects ?? [];
  const names = new Map(effects.map((each) => [each.slug, each.name]));
  const status = STATUSES.some((each) => each.value === filters.status) ? filters.status : undefined;
  const history = useHistory({ status, effect_id: effects.find((each) => each.slug === filters.effect)?.id });
  const filtered = status !== undefined || filters.effect !== undefined;
  const filter = (change: Filters) => void navigate({ to: "/history", search: { ...filters, ...change } as never, replace: true });
  return (
    <>
      <PageHead title="History" text="Everything you have made, newest first.">
        <Select placeholder="Any state" aria-label="State" data={STATUSES} value={status ?? null} clearable w={150} onChange={(value) => filter({ status: (value) ?? undefined })} />
        <Select
          placeholder="Any effect"
          aria-label="Effect"
          data={effects.map((each) => ({ value: each.slug, label: each.name }))}
          value={filters.effect ?? null}
          clearable
          searchable
          w={180}
          onChange={(value) => filter({ effect: value ?? undefined })}
        />
      </PageHead>
      {history.isError && <Problem problem={history.error} again={() => void history.refetch()} />}
      {history.isPending && <Waiting />}
      {history.isSuccess && history.jobs.length === 0 && (
        filtered ? (
          <EmptyState icon={IconHistory} title="Nothing fits these filters"><Button variant="light" onClick={() => void navigate({ to: "/history", search: {} as never })}>Show everything</Button></EmptyState>
        ) : (
          <EmptyState icon={IconHistory} title="Nothing yet" text="What you make appears here.">
            <Button leftSection={<IconSparkles size={16} />} renderRoot={(props) => <Link to="/" {...props} />}>Pick an effect</Button>
          </EmptyState>
        )
      )}
      {history.jobs.length > 0 && (
        <JobList jobs={history.jobs} names={names} more={history.hasNextPage} loadMore={() => { if (!history.isFetchingNextPage) void history.fetchNextPage(); }} />
      )}
      <Group justify="center" mt="md"><Text size="xs" className="quiet" role="status">{history.isFetchingNextPage ? "Loading more…" : ""}</Text></Group>
    </>
  );
}

function Waiting() {
  return <Stack gap="xs" aria-busy="true" aria-label="Loading jobs">{Array.from({ length: 8 }, (_, each) => <Skeleton key={each} h={64} />)}</Stack>;
}
