import { QueryClient } from "@tanstack/react-query";
import { isPassing } from "./errors";

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
