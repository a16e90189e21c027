import { IconActivity } from "@tabler/icons-react";
import type { NavigationSection } from "@/app/navigation";

export const consoleNavigation: NavigationSection[] = [
  { title: "Fleet", places: [{ to: "/console", label: "Overview", icon: IconActivity }] },
];
