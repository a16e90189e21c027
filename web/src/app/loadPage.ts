/** A page is fetched when somebody first goes there; the server may be away just then. */
import { lazyRouteComponent } from "@tanstack/react-router";
import { getSession } from "@/client";
import { FleetFault, faultOf } from "./errors";

/** Throws what is the matter where it does not answer. */
export async function askServer(): Promise<true> {
  try {
    await getSession({ throwOnError: true });
    return true;
  } catch (problem) {
    throw new FleetFault(faultOf(problem));
  }
}

export function loadPage<T extends Record<string, unknown>, K extends keyof T & string>(load: () => Promise<T>, name: K) {
  // Once: browsers do not fetch a module again that failed, nor does Vite its styles. Only a fresh document does.
  let loaded: Promise<T> | undefined;
  return lazyRouteComponent<T, K>(async () => {
    try {
      return await (loaded ??= load());
    } catch (problem) {
      // Without an answer a reload would leave nothing but the browser's own error page.
      await askServer();
      // By this sentence the router knows to reload, once a tab; what a failed style says it does not know.
      throw new Error(`Failed to fetch dynamically imported module: ${name}`, { cause: problem });
    }
  }, name);
}
