import type { Icon } from "@tabler/icons-react";

/** `also`: other addresses that belong to this place. */
export type Place = { to: string; label: string; icon: Icon; also?: string[] };
export type NavigationSection = { title: string; places: Place[] };
