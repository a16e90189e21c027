import { useSearch } from "@tanstack/react-router";

/** What the address says after its question mark. */
export const useWanted = <T extends Record<string, string | undefined>>(): T => useSearch({ strict: false }) as unknown as T;
