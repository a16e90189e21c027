/** What somebody entered for an effect, kept for as long as the tab lives: a reload or a detour loses nothing. */
import type { Property, Values } from "@/parts/properties";
import { firstValues, isMedia } from "@/parts/properties";

const key = (slug: string) => `comfyfleet-form-${slug}`;

export function rememberForm(slug: string, values: Values): void {
  try {
    sessionStorage.setItem(key(slug), JSON.stringify(values));
  } catch {
    // Private windows may refuse; then a reload starts anew.
  }
}

export function recallForm(slug: string, properties: Property[]): Values {
  const first = firstValues(properties);
  try {
    const kept: unknown = JSON.parse(sessionStorage.getItem(key(slug)) ?? "null");
    if (typeof kept !== "object" || kept === null) return first;
    // Only what the effect still asks for: it may have changed since.
    const known = new Set(properties.filter((each) => !isMedia(each)).map((each) => each.name));
    const fitting = Object.entries(kept as Values).filter(([name]) => known.has(name));
    return { ...first, ...Object.fromEntries(fitting) };
  } catch {
    return first;
  }
}
