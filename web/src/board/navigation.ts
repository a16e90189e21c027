import { IconBinaryTree } from "@tabler/icons-react";
import type { NavigationSection } from "@/app/navigation";

export const boardNavigation: NavigationSection[] = [
  { title: "Pipelines", places: [{ to: "/runs", label: "Runs", icon: IconBinaryTree }] },
];
