/** Why a job failed, for somebody who wanted a picture: whose doing it was, and what may help. */
import type { JobView } from "@/client";

// For jobs with a file and without one: a job does not say which it is, and nobody is told of a file that was never there.
const SENTENCES: Record<string, string> = {
  user_input: "Something about what you chose or entered does not work with this effect. Change something, and try again.",
  workflow_invalid: "This effect is not set up right. Trying again will not help: tell the people who run this installation.",
  execution_error: "Something went wrong while it was being made. Try again; if it fails once more, change something first.",
  out_of_memory: "It needs more memory than the machines here have. Try it smaller or shorter.",
  server_fault: "The machine that was making it broke down. It was not your doing: try again.",
  infra: "The machines could not be reached for too long. It was not your doing: try again.",
  interrupted: "The machine that was making it was taken away too often. It was not your doing: try again.",
  timeout: "It took too long, and was stopped. Try again later, or make it smaller or shorter.",
};

// As it was, it can only fail again.
const LASTING = ["user_input", "workflow_invalid"];

export const isWorthChanging = ({ error_class }: Pick<JobView, "error_class">) => LASTING.includes(error_class ?? "");
export const isWorthAnotherTry = ({ error_class }: Pick<JobView, "error_class">) => error_class !== "workflow_invalid";

export function sentenceFor({ error_class }: Pick<JobView, "error_class">): string {
  return SENTENCES[error_class ?? ""] ?? "Something went wrong. Try again; if it fails once more, change something first.";
}
