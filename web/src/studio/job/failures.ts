/** Why a job failed, for somebody who wanted a picture: whose doing it was, and what may help. */
import type { JobView } from "@/client";

const SENTENCES: Record<string, string> = {
  user_input: "Something about your file or your settings does not work with this effect. Change something, and try again.",
  workflow_invalid: "This effect is not set up right. Trying again will not help: tell the people who run this installation.",
  execution_error: "Something went wrong while it was being made. Try again; if it fails once more, change something first.",
  out_of_memory: "It needs more memory than the machines here have. Try a smaller picture or a shorter clip.",
  server_fault: "The machine that was making it broke down. It was not your doing: try again.",
  infra: "The machines could not be reached for too long. It was not your doing: try again.",
  interrupted: "The machine that was making it was taken away too often. It was not your doing: try again.",
  timeout: "It took too long, and was stopped. Try again later, or with a smaller picture or a shorter clip.",
};

export function sentenceFor({ error_class }: Pick<JobView, "error_class">): string {
  return SENTENCES[error_class ?? ""] ?? "Something went wrong. Try again; if it fails once more, change something first.";
}
