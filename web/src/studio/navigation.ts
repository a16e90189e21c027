import { IconHistory, IconKey, IconSparkles, IconWallet, IconWebhook } from "@tabler/icons-react";
import type { NavigationSection } from "@/app/navigation";
import { isAdmin, type Me } from "@/app/session";

export function studioNavigation(me: Me): NavigationSection[] {
  const programs = [
    { to: "/keys", label: "API keys", icon: IconKey },
    // Webhooks tell of everybody's jobs.
    ...(isAdmin(me) ? [{ to: "/webhooks", label: "Webhooks", icon: IconWebhook }] : []),
  ];
  return [
    {
      title: "Studio",
      places: [
        { to: "/", label: "Effects", icon: IconSparkles, also: ["/effects"] },
        { to: "/history", label: "History", icon: IconHistory, also: ["/jobs"] },
        { to: "/wallet", label: "Wallet", icon: IconWallet },
      ],
    },
    { title: "For programs", places: programs },
  ];
}
