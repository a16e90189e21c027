import type { Property } from "@/parts/properties";

export const primaryOf = (properties: Property[]) => properties.find((each) => each.is_primary_input);

/** What one has to bring, in a word. */
export function takes(properties: Property[]): string {
  const primary = primaryOf(properties);
  if (primary?.type === "video") return "from a clip";
  if (primary?.type === "image") return "from a picture";
  return "from words";
}
