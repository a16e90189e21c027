const shortHash = (text: string) => (/^[0-9a-f]{40,}$/.test(text) ? `${text.slice(0, 12)}…` : text);
const wordsOf = (name: string) => name.replaceAll("_", " ");

function valueText(name: string, value: unknown): string {
  if (typeof value === "string") return shortHash(value);
  if (!Array.isArray(value)) return JSON.stringify(value);
  if (value.length === 0) return "none";
  // What was changed are names of ours; other lists hold what somebody wrote.
  return value.map((each) => (typeof each !== "string" ? JSON.stringify(each) : name === "changed" ? wordsOf(each) : shortHash(each))).join(", ");
}

/** More about what was done, in words. */
export const detailText = (detail: Record<string, unknown>) =>
  Object.entries(detail).map(([name, value]) => `${wordsOf(name)}: ${valueText(name, value)}`).join("; ");
