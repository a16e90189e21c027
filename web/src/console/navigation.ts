import {
  IconActivity, IconAdjustments, IconBan, IconBell, IconBinaryTree2, IconBuildingCommunity, IconTimeline, IconHistory, IconListDetails, IconServer2, IconSitemap, IconSparkles,
} from "@tabler/icons-react";
import type { NavigationSection } from "@/app/navigation";

export const consoleNavigation: NavigationSection[] = [
  {
    title: "Fleet",
    places: [
      { to: "/console", label: "Overview", icon: IconActivity },
      { to: "/console/timeline", label: "Timeline", icon: IconTimeline },
      { to: "/console/workers", label: "Workers", icon: IconServer2, also: ["/console/add-worker"] },
      { to: "/console/fleets", label: "Fleets", icon: IconSitemap },
    ],
  },
  {
    title: "Work",
    places: [
      { to: "/console/dispatches", label: "Dispatches", icon: IconListDetails },
      { to: "/console/blocks", label: "Blocks", icon: IconBan },
      { to: "/console/workflows", label: "Workflows", icon: IconBinaryTree2 },
      { to: "/console/effects", label: "Effects", icon: IconSparkles },
    ],
  },
  {
    title: "House",
    places: [
      { to: "/console/tenants", label: "Tenants", icon: IconBuildingCommunity },
      { to: "/console/notifications", label: "Notifications", icon: IconBell },
      { to: "/console/audit-log", label: "Audit log", icon: IconHistory },
      { to: "/console/settings", label: "Settings", icon: IconAdjustments },
    ],
  },
];
