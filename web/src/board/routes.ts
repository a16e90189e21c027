import { createRoute } from "@tanstack/react-router";
import { loadPage } from "@/app/loadPage";
import { shellRoute } from "@/app/root";

const words = (value: unknown) => (typeof value === "string" ? value : undefined);
const number = (value: unknown) => (Number.isInteger(Number(value)) ? Number(value) : undefined);

export const boardRoutes = [
  createRoute({ getParentRoute: () => shellRoute, path: "/runs", component: loadPage(() => import("./runs/RunsPage"), "RunsPage") }),
  createRoute({
    getParentRoute: () => shellRoute,
    path: "/runs/new",
    validateSearch: (search): { pipeline?: string } => ({ pipeline: words(search.pipeline) }),
    component: loadPage(() => import("./start/NewRunPage"), "NewRunPage"),
  }),
  createRoute({ getParentRoute: () => shellRoute, path: "/runs/$runId", component: loadPage(() => import("./run/RunPage"), "RunPage") }),
  createRoute({
    getParentRoute: () => shellRoute,
    path: "/runs/$runId/vote",
    validateSearch: (search): { step?: number } => ({ step: search.step === undefined ? undefined : number(search.step) }),
    component: loadPage(() => import("./vote/VotePage"), "VotePage"),
  }),
  createRoute({ getParentRoute: () => shellRoute, path: "/pipelines", component: loadPage(() => import("./pipelines/PipelinesPage"), "PipelinesPage") }),
] as const;
