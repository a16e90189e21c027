/** What a tab keeps over a reload, such as a form that is half filled in. It is one person's, and leaves with them. */
const PREFIX = "comfyfleet-kept-";
const OWNER = "comfyfleet-owner";

export function keep(name: string, value: unknown): void {
  try {
    sessionStorage.setItem(PREFIX + name, JSON.stringify(value));
  } catch {
    // Private windows may refuse; then a reload starts anew.
  }
}

/** Null for what was never kept. */
export function recall(name: string): unknown {
  try {
    return JSON.parse(sessionStorage.getItem(PREFIX + name) ?? "null");
  } catch {
    return null;
  }
}

/** Whoever is logged in now: what somebody else left here is not shown to them. */
export function belongTo(userId: string): void {
  try {
    if (sessionStorage.getItem(OWNER) === userId) return;
    forgetAll();
    sessionStorage.setItem(OWNER, userId);
  } catch {
    // A browser that lets nobody keep anything has nothing to forget.
  }
}

export function forgetAll(): void {
  try {
    for (const name of Object.keys(sessionStorage).filter((each) => each.startsWith(PREFIX))) sessionStorage.removeItem(name);
  } catch {
    // As above.
  }
}
