/** Who is logged in; and what happens when that ends while somebody works. */
import { queryOptions, useQuery } from "@tanstack/react-query";
import { useSyncExternalStore } from "react";
import { getSession, logIn, logOut } from "@/client";
import { client } from "@/client/client.gen";
import type { MeView } from "@/client";
import { queries } from "./queries";
import { belongTo, forgetAll } from "./tabMemory";

export type Me = MeView;

export const sessionQuery = queryOptions({
  queryKey: ["session"],
  queryFn: async () => {
    const { me } = (await getSession({ throwOnError: true })).data;
    if (me) belongTo(me.user_id);
    return me;
  },
  staleTime: Infinity,
});

/** Undefined: not known yet; null: nobody. */
export function useMe(): Me | null | undefined {
  return useQuery(sessionQuery).data;
}

/** Within the shell somebody is always logged in. */
export function useSignedIn(): Me {
  const me = useMe();
  if (!me) throw new Error("nobody is logged in");
  return me;
}

export const isOperator = (me: Me) => me.role === "operator";
export const isAdmin = (me: Me) => me.role === "admin";

/** Returns a warning to show, if the connection cannot protect the login. */
export async function signIn(email: string, password: string): Promise<string | null> {
  const { data } = await logIn({ body: { email, password }, throwOnError: true });
  return data.warning;
}

export async function signOut(): Promise<void> {
  await logOut({ throwOnError: true });
  forgetAll();
  // Everything that is kept in memory belongs to somebody who has left.
  location.assign("/");
}

// A session that ends in mid-work: every request waits here until somebody has logged in again. No page is unmounted,
// so nothing that was typed is lost.
let waiting: { over: Promise<void>; end: () => void } | null = null;
const watchers = new Set<() => void>();

function tell() {
  for (const each of watchers) each();
}

export function sessionEnded(): Promise<void> {
  if (waiting === null) {
    const { promise, resolve } = Promise.withResolvers<void>();
    waiting = { over: promise, end: resolve };
    tell();
  }
  return waiting.over;
}

export const hasSessionEnded = () => waiting !== null;

export function sessionRestored(): void {
  waiting?.end();
  waiting = null;
  tell();
}

export function useSessionEnded(): boolean {
  return useSyncExternalStore(
    (changed) => {
      watchers.add(changed);
      return () => watchers.delete(changed);
    },
    hasSessionEnded,
  );
}

/** For what does not go through the client, such as a stream that was refused. */
export async function checkSession(): Promise<void> {
  const before = queries.getQueryData(sessionQuery.queryKey);
  if (!before) return;
  const { data } = await getSession();
  if (data !== undefined && data.me === null) await sessionEnded();
}

const OPEN_PATHS = "/api/auth/";

client.setConfig({
  baseUrl: "",
  fetch: async (input, init) => {
    const request = new Request(input, init);
    const answer = await fetch(request.clone());
    const known = queries.getQueryData(sessionQuery.queryKey);
    if (answer.status !== 401 || !known || new URL(request.url).pathname.startsWith(OPEN_PATHS)) return answer;
    await sessionEnded();
    return fetch(request);
  },
});
