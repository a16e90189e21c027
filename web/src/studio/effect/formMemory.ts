/** What somebody entered for an effect, kept for as long as the tab lives: a reload or a detour loses nothing. */
import { keep, recall } from "@/app/tabMemory";
import type { Property, Values } from "@/parts/properties";
import { firstValues, isMedia } from "@/parts/properties";

const key = (slug: string) => `form-${slug}`;

export function rememberForm(slug: string, values: Values): void {
  keep(key(slug), values);
}

export function recallForm(slug: string, properties: Property[]): Values {
  const first = firstValues(properties);
  const kept = recall(key(slug));
  if (typeof kept !== "object" || kept === null) return first;
  // Only what the effect still asks for: it may have changed since.
  const known = new Set(properties.filter((each) => !isMedia(each)).map((each) => each.name));
  const fitting = Object.entries(kept as Values).filter(([name]) => known.has(name));
  return { ...first, ...Object.fromEntries(fitting) };
}
