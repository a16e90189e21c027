import { createRouter } from "@tanstack/react-router";
import { boardRoutes } from "@/board/routes";
import { consoleRoutes } from "@/console/routes";
import { studioRoutes } from "@/studio/routes";
import { CrashPage } from "./CrashPage";
import { NotFoundPage } from "./NotFoundPage";
import { enterRoute, rootRoute, setPasswordRoute, shellRoute } from "./root";

const tree = rootRoute.addChildren([
  setPasswordRoute,
  enterRoute,
  shellRoute.addChildren([...studioRoutes, ...boardRoutes, ...consoleRoutes]),
]);

export const router = createRouter({
  routeTree: tree,
  defaultPreload: "intent",
  defaultNotFoundComponent: NotFoundPage,
  // Beside the one of the root: a page that breaks leaves the navigation standing.
  defaultErrorComponent: CrashPage,
  scrollRestoration: true,
});

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}
