/** What somebody typed where a number belongs: on its way to `7.5` it is `7.`, and on its way to `-3` it is no number at all. */

/** What is no number, or none that a browser keeps exactly, stays as it was typed. Null: nothing. */
export type Entered = number | string | null;
export type Range = { least?: number | null; most?: number | null; isWhole?: boolean };

export const EXACT_MAX = Number.MAX_SAFE_INTEGER;

export function entered(typed: number | string): Entered {
  if (typeof typed === "number") return typed;
  const text = typed.trim();
  if (text === "") return null;
  return isExact(Number(text)) ? Number(text) : text;
}

export const numberOf = (value: Entered | undefined) => (typeof value === "number" ? value : null);

/** In a sentence; nothing is wrong with nothing. */
export function rangeProblem(value: Entered, { least, most, isWhole = false }: Range): string | null {
  if (value === null || value === "") return null;
  const number = Number(value);
  if (!Number.isFinite(number)) return "Enter a number.";
  if (isWhole && !Number.isInteger(number)) return "Enter a whole number.";
  if (typeof least === "number" && number < least) return `At least ${least}.`;
  if (typeof most === "number" && most <= EXACT_MAX && number > most) return `At most ${most}.`;
  if ((isWhole || typeof value === "string") && !isExact(number)) return `Too long: beyond ${EXACT_MAX} a browser does not count exactly.`;
  return null;
}

const isExact = (number: number) => Math.abs(number) <= EXACT_MAX;
