import { IconBinaryTree, IconRoute } from "@tabler/icons-react";
import type { NavigationSection } from "@/app/navigation";

export const boardNavigation: NavigationSection[] = [
  {
    title: "Pipelines",
    places: [
      { to: "/runs", label: "Runs", icon: IconBinaryTree },
      { to: "/pipelines", label: "Pipelines", icon: IconRoute },
    ],
  },
];
