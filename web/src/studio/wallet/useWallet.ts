/** The wallet and its ledger are read together: whoever sees one move looks for the other. */
import { useQuery, type QueryClient } from "@tanstack/react-query";
import { usePolling } from "@/app/live";
import { getEntriesQueryKey, getWalletOptions, getWalletQueryKey } from "@/client/@tanstack/react-query.gen";

export function useWallet() {
  return useQuery({ ...getWalletOptions(), ...useFreshWallet() });
}

/** How what the wallet shows stays true beside the stream: not everything that adds tokens runs in the server, and says so. */
export function useFreshWallet() {
  return { refetchInterval: usePolling(), refetchOnWindowFocus: "always" } as const;
}

export function walletMoved(queries: QueryClient): Promise<unknown> {
  return Promise.all([getWalletQueryKey(), getEntriesQueryKey()].map((queryKey) => queries.invalidateQueries({ queryKey })));
}
