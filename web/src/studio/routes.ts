import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { shellRoute } from "@/app/root";

const at = <P extends string>(path: P, component: ReturnType<typeof lazyRouteComponent>) =>
  createRoute({ getParentRoute: () => shellRoute, path, component });

export const studioRoutes = [
  at("/", lazyRouteComponent(() => import("./gallery/GalleryPage"), "GalleryPage")),
  at("/effects/$slug", lazyRouteComponent(() => import("./effect/EffectPage"), "EffectPage")),
  at("/jobs/$jobId", lazyRouteComponent(() => import("./job/JobPage"), "JobPage")),
  at("/history", lazyRouteComponent(() => import("./history/HistoryPage"), "HistoryPage")),
  at("/wallet", lazyRouteComponent(() => import("./wallet/WalletPage"), "WalletPage")),
  at("/keys", lazyRouteComponent(() => import("./keys/KeysPage"), "KeysPage")),
  at("/webhooks", lazyRouteComponent(() => import("./webhooks/WebhooksPage"), "WebhooksPage")),
  at("/webhooks/$endpointId", lazyRouteComponent(() => import("./webhooks/EndpointPage"), "EndpointPage")),
] as const;
