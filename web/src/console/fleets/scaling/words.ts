/** Why a fleet has as many machines as it has, in words for operators. */
import type { HoldView } from "@/client";

const REASONS: Record<string, string> = {
  none: "Nothing was decided yet",
  steady: "The fleet has what it needs",
  wake: "Jobs wait, and there was no worker",
  backlog: "More work waits than would be served in time",
  load: "The work that arrives needs more workers",
  buffer: "The load and the buffer need more workers",
  minimum: "Fewer workers than the minimum",
  surplus: "More workers than needed, for long enough",
  held: "Held back",
};

const HOLDS: Record<string, string> = {
  stale_inputs: "The figures are too old to act on",
  bad_inputs: "The figures make no sense",
  not_registering: "Launches are stopped: machines do not register",
  no_capacity: "The provider has no capacity",
  budget: "The budget is reached",
  maximum: "The maximum is reached",
  growth: "At most twice as many at a time",
  provider: "The provider of machines fails",
};

export const reasonText = (reason: string) => REASONS[reason] ?? reason.replaceAll("_", " ");
export const holdText = (hold: string) => HOLDS[hold] ?? hold.replaceAll("_", " ");

/** One line: what was decided, and what kept it from being more. */
export function decisionText({ reason, holds }: { reason: string; holds: HoldView[] }): string {
  const held = holds.map((each) => `${holdText(each.hold)} (${each.text})`);
  return reason === "held" && held.length > 0 ? held.join("; ") : [reasonText(reason), ...held].join("; ");
}

/** What an operator ends by hand once the cause is mended. */
export const canResume = (holds: HoldView[]) => holds.some((each) => each.hold === "not_registering" || each.hold === "no_capacity");
