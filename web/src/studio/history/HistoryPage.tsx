import { Button, Group, Select, Skeleton, Stack, Text } from "@mantine/core";
import { IconHistory, IconMoodEmpty, IconSparkles } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { faultOf } from "@/app/errors";
import type { JobStatus } from "@/client";
import { getOfferOptions } from "@/client/@tanstack/react-query.gen";
import { EmptyState } from "@/parts/EmptyState";
import { Loading } from "@/parts/Loading";
import { PageHead } from "@/parts/PageHead";
import { StorageUse } from "./StorageUse";
import { Problem } from "@/parts/Problem";
import { everyOffer } from "../gallery/everyOffer";
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
  const offers = useQuery({ ...everyOffer, staleTime: 60_000 });
  const effects = offers.data ?? [];
  // By its own address: it may be offered no more, and need not wait for all the others.
  const chosen = useQuery({ ...getOfferOptions({ path: { effect_slug: filters.effect ?? "" } }), enabled: filters.effect !== undefined, staleTime: 60_000 });
  const names = new Map(effects.map((each) => [each.slug, each.name]));
  const status = STATUSES.some((each) => each.value === filters.status) ? filters.status : undefined;
  // Until it is known, nothing is listed: everything would be something else than what was asked for.
  const history = useHistory({ status, effect_id: chosen.data?.id }, filters.effect === undefined || chosen.data !== undefined);
  const filtered = status !== undefined || filters.effect !== undefined;
  const filter = (change: Filters) => void navigate({ to: "/history", search: { ...filters, ...change } as never, replace: true });
  const everything = <Button variant="light" onClick={() => void navigate({ to: "/history", search: {} as never })}>Show everything</Button>;
  return (
    <>
      <PageHead title="History" text="Everything you have made, newest first.">
        <Select placeholder="Any state" aria-label="State" data={STATUSES} value={status ?? null} clearable w={150} onChange={(value) => filter({ status: (value) ?? undefined })} />
        <Select
          placeholder="Any effect"
          aria-label="Effect"
          data={choices(effects, filters.effect, chosen.data?.name)}
          value={filters.effect ?? null}
          clearable
          searchable
          w={180}
          onChange={(value) => filter({ effect: value ?? undefined })}
        />
      </PageHead>
      <StorageUse />
      {filters.effect !== undefined && chosen.isError && !chosen.data && (
        faultOf(chosen.error).code === "not_found" ? (
          <EmptyState icon={IconMoodEmpty} title="This effect is not offered any more" text="What it made is still among all the others.">{everything}</EmptyState>
        ) : (
          <Problem problem={chosen.error} again={() => void chosen.refetch()} />
        )
      )}
      {history.isError && !history.data && <Problem problem={history.error} again={() => void history.refetch()} />}
      {history.isPending && !chosen.isError && <Waiting />}
      {history.data && history.jobs.length === 0 && (
        filtered ? (
          <EmptyState icon={IconHistory} title="Nothing fits these filters">{everything}</EmptyState>
        ) : (
          <EmptyState icon={IconHistory} title="Nothing yet" text="What you make appears here.">
            <Button leftSection={<IconSparkles size={16} />} renderRoot={(props) => <Link to="/" {...props} />}>Pick an effect</Button>
          </EmptyState>
        )
      )}
      {history.jobs.length > 0 && (
        <JobList
          jobs={history.jobs}
          names={names}
          // After a refusal somebody has to ask for it: the list itself would ask for ever.
          more={history.hasNextPage && !history.isFetchNextPageError}
          loadMore={() => { if (!history.isFetching) void history.fetchNextPage(); }}
        />
      )}
      {history.isFetchNextPageError && <Problem problem={history.error} again={() => void history.fetchNextPage()} />}
      <Group justify="center" mt="md"><Text size="xs" className="quiet" role="status">{history.isFetchingNextPage ? "Loading more…" : ""}</Text></Group>
    </>
  );
}

/** The chosen one is always among them, or its filter could be neither seen nor cleared. */
function choices(effects: { slug: string; name: string }[], chosen: string | undefined, name: string | undefined) {
  const known = effects.map((each) => ({ value: each.slug, label: each.name }));
  return chosen === undefined || known.some((each) => each.value === chosen) ? known : [...known, { value: chosen, label: name ?? chosen }];
}

function Waiting() {
  return <Loading what="Loading jobs"><Stack gap="xs">{Array.from({ length: 8 }, (_, each) => <Skeleton key={each} h={64} />)}</Stack></Loading>;
}
