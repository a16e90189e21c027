/** Jobs by pages; the stream keeps those that are shown true. */
import { useInfiniteQuery, useQueryClient, type InfiniteData } from "@tanstack/react-query";
import { useEffect, useEffectEvent } from "react";
import { useLive, usePolling, useSoon } from "@/app/live";
import { getJobs, type JobPage, type JobStatus, type JobView } from "@/client";
import { getJobsInfiniteOptions } from "@/client/@tanstack/react-query.gen";
import { withFirst } from "./pages";

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
    // Only while one page is shown: to ask for a hundred pages every two seconds would help nobody. Of more, the first alone.
    refetchInterval: ({ state }) => (state.data && state.data.pages.length > 1 ? false : polling),
  });
  const pages = history.data?.pages.length ?? 0;
  const readFirst = async () => {
    const { data: fresh } = await getJobs({ query: { ...filters, limit: ROWS }, throwOnError: true });
    queries.setQueryData<InfiniteData<JobPage>>(options.queryKey, (data) => data && { ...data, pages: withFirst(data.pages, fresh.jobs) });
  };
  const askAgain = useSoon(() => (pages > 1 ? readFirst() : queries.invalidateQueries({ queryKey: options.queryKey })), AGAIN_MS);
  const poll = useEffectEvent(askAgain);
  const isLong = enabled && pages > 1;
  useEffect(() => {
    if (!isLong || polling === false) return undefined;
    const timer = window.setInterval(() => poll(), polling);
    return () => window.clearInterval(timer);
  }, [isLong, polling]);
  useLive<{ job_id: string; status: JobStatus }>("status", (told) => {
    queries.setQueryData<InfiniteData<JobPage>>(options.queryKey, (data) => data && {
      ...data,
      pages: data.pages.map((page) => ({
        ...page,
        jobs: page.jobs.map((job) => (job.id === told.job_id ? { ...job, status: told.status } : job)),
      })),
    });
    // New ones stand on the first page, and ended ones have results.
    if (enabled) askAgain();
  });
  // What is kept under this key while it is not known what is asked for, is something else.
  const data = enabled ? history.data : undefined;
  const jobs: JobView[] = data?.pages.flatMap((page) => page.jobs) ?? [];
  return { ...history, data, jobs };
}
