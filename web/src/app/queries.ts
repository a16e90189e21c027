import { QueryClient, type QueryFilters } from "@tanstack/react-query";
import { isPassing } from "./errors";

/** What is under way may be older than what was just told: it is let end, with whoever asked for it, and then all of it is
 * read again. What nobody looks at is read when somebody does. */
export async function readAgain(filters: QueryFilters): Promise<void> {
  const underWay = queries.getQueryCache().findAll({ ...filters, fetchStatus: "fetching" });
  await Promise.allSettled(underWay.map((each) => Promise.resolve(each.promise)));
  await queries.invalidateQueries(filters);
}

export const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 5_000,
      refetchOnWindowFocus: false,
      retry: (count, problem) => count < 3 && isPassing(problem),
      retryDelay: (count) => Math.min(500 * 2 ** count, 4_000),
    },
    mutations: { retry: false },
  },
});
