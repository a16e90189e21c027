import { createRoute, type RouteComponent } from "@tanstack/react-router";
import { loadPage } from "@/app/loadPage";
import { shellRoute } from "@/app/root";

const at = <P extends string>(path: P, component: RouteComponent) =>
  createRoute({ getParentRoute: () => shellRoute, path, component });

export const consoleRoutes = [
  at("/console", loadPage(() => import("./overview/OverviewPage"), "OverviewPage")),
  at("/console/timeline", loadPage(() => import("./timeline/TimelinePage"), "TimelinePage")),
  at("/console/workers", loadPage(() => import("./workers/WorkersPage"), "WorkersPage")),
  at("/console/add-worker", loadPage(() => import("./workers/AddWorkerPage"), "AddWorkerPage")),
  at("/console/workers/$workerId", loadPage(() => import("./workers/WorkerPage"), "WorkerPage")),
  at("/console/fleets", loadPage(() => import("./fleets/FleetsPage"), "FleetsPage")),
  at("/console/fleets/$fleetId", loadPage(() => import("./fleets/FleetPage"), "FleetPage")),
  at("/console/dispatches", loadPage(() => import("./dispatches/DispatchesPage"), "DispatchesPage")),
  at("/console/dispatches/$dispatchId", loadPage(() => import("./dispatches/DispatchPage"), "DispatchPage")),
  at("/console/blocks", loadPage(() => import("./blocks/BlocksPage"), "BlocksPage")),
  at("/console/workflows", loadPage(() => import("./workflows/WorkflowsPage"), "WorkflowsPage")),
  at("/console/workflows/new", loadPage(() => import("./workflows/ImportPage"), "ImportPage")),
  at("/console/workflows/$slug", loadPage(() => import("./workflows/WorkflowPage"), "WorkflowPage")),
  at("/console/effects", loadPage(() => import("./effects/EffectsPage"), "EffectsPage")),
  at("/console/effects/new", loadPage(() => import("./effects/NewEffectPage"), "NewEffectPage")),
  at("/console/effects/$slug", loadPage(() => import("./effects/EffectPage"), "EffectPage")),
  at("/console/tenants", loadPage(() => import("./tenants/TenantsPage"), "TenantsPage")),
  at("/console/tenants/$tenantId", loadPage(() => import("./tenants/TenantPage"), "TenantPage")),
  at("/console/audit-log", loadPage(() => import("./audit/AuditPage"), "AuditPage")),
  at("/console/notifications", loadPage(() => import("./notifications/NotificationsPage"), "NotificationsPage")),
  at("/console/settings", loadPage(() => import("./settings/SettingsPage"), "SettingsPage")),
] as const;
