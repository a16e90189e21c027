import { createRoute, type RouteComponent } from "@tanstack/react-router";
import { loadPage } from "@/app/loadPage";
import { shellRoute } from "@/app/root";

const at = <P extends string>(path: P, component: RouteComponent) =>
  createRoute({ getParentRoute: () => shellRoute, path, component });

export const studioRoutes = [
  at("/", loadPage(() => import("./gallery/GalleryPage"), "GalleryPage")),
  at("/effects/$slug", loadPage(() => import("./effect/EffectPage"), "EffectPage")),
  at("/jobs/$jobId", loadPage(() => import("./job/JobPage"), "JobPage")),
  at("/history", loadPage(() => import("./history/HistoryPage"), "HistoryPage")),
  at("/wallet", loadPage(() => import("./wallet/WalletPage"), "WalletPage")),
  at("/keys", loadPage(() => import("./keys/KeysPage"), "KeysPage")),
  at("/webhooks", loadPage(() => import("./webhooks/WebhooksPage"), "WebhooksPage")),
  at("/webhooks/$endpointId", loadPage(() => import("./webhooks/EndpointPage"), "EndpointPage")),
] as const;
