import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { shellRoute } from "@/app/root";

const words = (value: unknown) => (typeof value === "string" ? value : undefined);
const number = (value: unknown) => (Number.isInteger(Number(value)) ? Number(value) : undefined);

export const boardRoutes = [
  createRoute({ getParentRoute: () => shellRoute, path: "/runs", component: lazyRouteComponent(() => import("./runs/RunsPage"), "RunsPage") }),
  createRoute({
    getParentRoute: () => shellRoute,
    path: "/runs/new",
    validateSearch: (search): { pipeline?: string } => ({ pipeline: words(search.pipeline) }),
    component: lazyRouteComponent(() => import("./start/NewRunPage"), "NewRunPage"),
  }),
  createRoute({ getParentRoute: () => shellRoute, path: "/runs/$runId", component: lazyRouteComponent(() => import("./run/RunPage"), "RunPage") }),
  createRoute({
    getParentRoute: () => shellRoute,
    path: "/runs/$runId/vote",
    validateSearch: (search): { step?: number } => ({ step: search.step === undefined ? undefined : number(search.step) }),
    component: lazyRouteComponent(() => import("./vote/VotePage"), "VotePage"),
  }),
  createRoute({ getParentRoute: () => shellRoute, path: "/pipelines", component: lazyRouteComponent(() => import("./pipelines/PipelinesPage"), "PipelinesPage") }),
] as const;
