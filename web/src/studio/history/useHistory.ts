/** Jobs by pages; the stream keeps those that are shown true. */
import { useInfiniteQuery, useQueryClient, type InfiniteData } from "@tanstack/react-query";
import { useLive, usePolling, useSoon } from "@/app/live";
import type { JobPage, JobStatus, JobView } from "@/client";
import { getJobsInfiniteOptions } from "@/client/@tanstack/react-query.gen";

const ROWS = 50;
// However many jobs change at once.
const AGAIN_MS = 800;

export function useHistory(filters: { status?: JobStatus; effect_id?: string }, enabled: boolean) {
  const queries = useQueryClient();
  const polling = usePolling();
  const options = getJobsInfiniteOptions({ query: { ...filters, limit: ROWS } });
  const history = useInfiniteQuery({
    ...options,
    enabled,
    initialPageParam: {},
    getNextPageParam: (page) => (page.next_cursor ? { query: { cursor: page.next_cursor } } : undefined),
    // Only while one page is shown: to ask for a hundred pages every two seconds would help nobody.
    refetchInterval: ({ state }) => (state.data && state.data.pages.length > 1 ? false : polling),
  });
  const askAgain = useSoon(() => void queries.invalidateQueries({ queryKey: options.queryKey }), AGAIN_MS);
  useLive<{ job_id: string; status: JobStatus }>("status", (told) => {
    let known = false;
    queries.setQueryData<InfiniteData<JobPage>>(options.queryKey, (data) => data && {
      ...data,
      pages: data.pages.map((page) => ({
        ...page,
        jobs: page.jobs.map((job) => {
          if (job.id !== told.job_id) return job;
          known = true;
          return { ...job, status: told.status };
        }),
      })),
    });
    // New ones stand on the first page, and ended ones have results: ask, unless much would have to be asked for again.
    if (known && (history.data?.pages.length ?? 0) > 3) return;
    askAgain();
  });
  const jobs: JobView[] = history.data?.pages.flatMap((page) => page.jobs) ?? [];
  return { ...history, jobs };
}
