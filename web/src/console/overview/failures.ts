import type { EndsView } from "@/client";

/** Of attempts that ended by themselves. A user's mistake is in the picture of what ended, and is no fault of the fleet. */
export function failuresOf({ completed, failed: ended, by_reason: reasons }: Pick<EndsView, "completed" | "failed" | "by_reason">) {
  const [done, all] = [completed, ended].map((each) => each.reduce((sum, number) => sum + number, 0)) as [number, number];
  const failed = all - (reasons.user_input ?? 0);
  return { done, failed, share: failed > 0 ? failed / (done + failed) : 0 };
}
