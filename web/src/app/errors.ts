/** What went wrong, in one shape, and in a sentence that a person understands. */

export type Fault = { code: string; message: string; details: Record<string, unknown> };

export const NO_ANSWER = "no_answer";

const SENTENCES: Record<string, string> = {
  [NO_ANSWER]: "The server does not answer. It may be restarting; nothing you entered is lost. Try again in a moment.",
  internal: "Something went wrong on our side. It was written down; try again in a moment.",
  database_unavailable: "The server is busy recovering. Nothing is lost; try again in a moment.",
  storage_unavailable: "Files cannot be reached right now. Nothing is lost; try again in a moment.",
  illegal_move: "Meanwhile this has moved on: look again.",
  rate_limited: "That was a lot at once. Wait a few seconds and go on.",
};

export class FleetFault extends Error {
  readonly fault: Fault;

  constructor(fault: Fault) {
    super(fault.message);
    this.fault = fault;
  }
}

function isFault(value: unknown): value is Fault {
  return typeof value === "object" && value !== null && "code" in value && "message" in value;
}

/** The API throws `{error: {code, message, details}}`; a browser without a server throws a TypeError. */
export function faultOf(thrown: unknown): Fault {
  if (thrown instanceof FleetFault) return thrown.fault;
  if (typeof thrown === "object" && thrown !== null && "error" in thrown && isFault(thrown.error)) {
    return { ...thrown.error, details: thrown.error.details ?? {} };
  }
  if (thrown instanceof TypeError || thrown === "" || thrown === undefined) {
    return { code: NO_ANSWER, message: "The server does not answer.", details: {} };
  }
  // A proxy in front of a server that restarts answers with a page of its own.
  if (typeof thrown === "string") return { code: NO_ANSWER, message: "The server does not answer.", details: {} };
  return { code: "internal", message: thrown instanceof Error ? thrown.message : "Unknown problem.", details: {} };
}

export function sentenceOf(thrown: unknown): string {
  const fault = faultOf(thrown);
  return SENTENCES[fault.code] ?? fault.message;
}

/** Worth asking again without anybody noticing. */
export function isPassing(thrown: unknown): boolean {
  return [NO_ANSWER, "database_unavailable", "storage_unavailable", "internal"].includes(faultOf(thrown).code);
}
