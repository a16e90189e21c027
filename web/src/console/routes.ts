import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { shellRoute } from "@/app/root";

const at = <P extends string>(path: P, component: ReturnType<typeof lazyRouteComponent>) =>
  createRoute({ getParentRoute: () => shellRoute, path, component });

export const consoleRoutes = [
  at("/console", lazyRouteComponent(() => import("./overview/OverviewPage"), "OverviewPage")),
  at("/console/timeline", lazyRouteComponent(() => import("./timeline/TimelinePage"), "TimelinePage")),
  at("/console/workers", lazyRouteComponent(() => import("./workers/WorkersPage"), "WorkersPage")),
  at("/console/add-worker", lazyRouteComponent(() => import("./workers/AddWorkerPage"), "AddWorkerPage")),
  at("/console/workers/$workerId", lazyRouteComponent(() => import("./workers/WorkerPage"), "WorkerPage")),
  at("/console/fleets", lazyRouteComponent(() => import("./fleets/FleetsPage"), "FleetsPage")),
  at("/console/fleets/$fleetId", lazyRouteComponent(() => import("./fleets/FleetPage"), "FleetPage")),
  at("/console/dispatches", lazyRouteComponent(() => import("./dispatches/DispatchesPage"), "DispatchesPage")),
  at("/console/dispatches/$dispatchId", lazyRouteComponent(() => import("./dispatches/DispatchPage"), "DispatchPage")),
  at("/console/blocks", lazyRouteComponent(() => import("./blocks/BlocksPage"), "BlocksPage")),
  at("/console/workflows", lazyRouteComponent(() => import("./workflows/WorkflowsPage"), "WorkflowsPage")),
  at("/console/workflows/new", lazyRouteComponent(() => import("./workflows/ImportPage"), "ImportPage")),
  at("/console/workflows/$slug", lazyRouteComponent(() => import("./workflows/WorkflowPage"), "WorkflowPage")),
  at("/console/effects", lazyRouteComponent(() => import("./effects/EffectsPage"), "EffectsPage")),
  at("/console/effects/new", lazyRouteComponent(() => import("./effects/NewEffectPage"), "NewEffectPage")),
  at("/console/effects/$slug", lazyRouteComponent(() => import("./effects/EffectPage"), "EffectPage")),
  at("/console/tenants", lazyRouteComponent(() => import("./tenants/TenantsPage"), "TenantsPage")),
  at("/console/tenants/$tenantId", lazyRouteComponent(() => import("./tenants/TenantPage"), "TenantPage")),
  at("/console/audit-log", lazyRouteComponent(() => import("./audit/AuditPage"), "AuditPage")),
  at("/console/settings", lazyRouteComponent(() => import("./settings/SettingsPage"), "SettingsPage")),
] as const;
