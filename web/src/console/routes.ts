import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { shellRoute } from "@/app/root";

const at = <P extends string>(path: P, component: ReturnType<typeof lazyRouteComponent>) =>
  createRoute({ getParentRoute: () => shellRoute, path, component });

export const consoleRoutes = [at("/console", lazyRouteComponent(() => import("./OverviewPage"), "OverviewPage"))] as const;
