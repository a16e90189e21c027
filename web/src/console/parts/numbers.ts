const NUMBER = new Intl.NumberFormat("en");

export const numberText = (value: number, isAtLeast = false) => `${NUMBER.format(value)}${isAtLeast ? "+" : ""}`;
export const percentText = (share: number) => `${Math.round(share * 100)} %`;

const ORDINAL = new Intl.PluralRules("en", { type: "ordinal" });
const ENDINGS: Partial<Record<Intl.LDMLPluralRule, string>> = { one: "st", two: "nd", few: "rd" };
export const ordinalText = (place: number) => `${NUMBER.format(place)}${ENDINGS[ORDINAL.select(place)] ?? "th"}`;

export function bytesText(bytes: number): string {
  const units = ["B", "KB", "MB", "GB"];
  let [size, unit] = [bytes, 0];
  while (size >= 1000 && unit < units.length - 1) [size, unit] = [size / 1000, unit + 1];
  return `${size < 10 && unit > 0 ? size.toFixed(1) : Math.round(size)} ${units[unit]}`;
}

/** Classes of failure and other ends of an attempt, in words. */
const ENDS: Record<string, string> = {
  completed: "completed", user_input: "the user's input", workflow_invalid: "invalid workflow", execution_error: "execution error",
  out_of_memory: "out of memory", server_fault: "server fault", infra: "infrastructure", interrupted: "interrupted", timeout: "run deadline passed",
  cancelled: "cancelled", requeued: "given back", expired: "lease expired", deadline: "run deadline passed", revoked: "worker revoked",
  worker_restarted: "worker restarted",
};

export const endText = (reason: string) => ENDS[reason] ?? reason.replaceAll("_", " ");

/** Nobody's failure: the lease went back, or nobody wanted the result any more. */
const NO_FAILURES = new Set(["requeued", "worker_restarted", "revoked", "interrupted", "cancelled"]);

/** Green, red, or neither. */
export const endTone = (reason: string) => (reason === "completed" ? "good" : NO_FAILURES.has(reason) ? "calm" : "bad");
