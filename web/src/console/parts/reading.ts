/** How pages of the console read, stay fresh, and change something. */
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { useRef } from "react";
import { useLive, useNotice, usePolling, useSoon } from "@/app/live";
import { queries, readAgain } from "@/app/queries";
import type { OverviewView } from "@/client";

const CONSOLE = "console";
const FRESH_AGAIN_MS = 2_000;

export const keyOf = (...key: unknown[]) => [CONSOLE, ...key];

// What never changes, and what the stream tells itself.
const KEPT = new Set(["graph", "payload", "settings", "start-command", "timeline", "overview"]);

/** Whatever an operator does, here, elsewhere or from a terminal, may show on any page. Once, for all of them. */
export function useFollowActions(): void {
  useNotice("actions", () => readAgain({ queryKey: [CONSOLE], predicate: ({ queryKey }) => !KEPT.has(String(queryKey[1])) }));
}

export function useRead<T>(key: unknown[], read: () => Promise<{ data: T }>, { enabled = true }: { enabled?: boolean } = {}) {
  return useQuery({ queryKey: keyOf(...key), queryFn: async () => (await read()).data, refetchInterval: usePolling(), enabled });
}

export type PageOf<T> = { rows: T[]; next: string | null };

export function usePages<T, P extends PageOf<T> = PageOf<T>>(key: unknown[], read: (cursor: string | undefined) => Promise<P & PageOf<T>>) {
  const found = useInfiniteQuery({
    queryKey: keyOf(...key),
    queryFn: ({ pageParam }) => read(pageParam),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last) => last.next ?? undefined,
    refetchInterval: usePolling(),
  });
  return { ...found, rows: found.data?.pages.flatMap((page) => page.rows) };
}

/** The stream says that something moved in the fleet: read again, but not for each of a hundred leases a second. */
export function useFresh(...key: unknown[]): void {
  const waiting = useRef<string | undefined>(undefined);
  const moved = useSoon(() => readAgain({ queryKey: keyOf(...key) }), FRESH_AGAIN_MS);
  useLive("fleet", moved);
  // Jobs come and are cancelled without any lease: what waits tells of them.
  useLive<OverviewView>("overview", ({ workflows }) => {
    const now = workflows.map((each) => `${each.workflow}:${each.queued}:${each.running}:${each.waits_because}`).join();
    if (waiting.current !== undefined && waiting.current !== now) moved();
    waiting.current = now;
  });
}

/** Tenants' users and wallets, which others change than operators. */
export function useFreshTenants(...key: unknown[]): void {
  useNotice("tenants", () => readAgain({ queryKey: keyOf(...key) }), FRESH_AGAIN_MS);
}

export const refresh = () => queries.invalidateQueries({ queryKey: [CONSOLE] });

/** Done, and everything that is shown is read again. */
export function then<T>(act: () => Promise<T>): () => Promise<T> {
  return async () => {
    const answer = await act();
    await refresh();
    return answer;
  };
}
