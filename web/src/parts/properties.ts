/** What an effect leaves open: first values, and what is wrong with what somebody entered. */
import type { OpenPropertyView } from "@/client";

export type Property = OpenPropertyView;
export type Value = string | number | boolean | null;
export type Values = Record<string, Value>;

export const RANDOM = "random";
const SEED_MAX = 2 ** 53 - 1;

export const isMedia = (property: Property) => property.type === "image" || property.type === "video";

export function firstValues(properties: Property[]): Values {
  return Object.fromEntries(properties.filter((each) => !isMedia(each)).map((each) => [each.name, firstValue(each)]));
}

function firstValue(property: Property): Value {
  if (property.default !== null && property.default !== undefined) return property.default;
  if (property.type === "boolean") return false;
  if (property.type === "seed") return RANDOM;
  return property.type === "text" ? "" : null;
}

/** By name, in sentences. Files are checked where they are chosen. */
export function problemsOf(properties: Property[], values: Values): Record<string, string> {
  const found = properties.map((each) => [each.name, isMedia(each) ? null : problemOf(each, values[each.name] ?? null)] as const);
  return Object.fromEntries(found.filter((each): each is [string, string] => each[1] !== null));
}

function problemOf(property: Property, value: Value): string | null {
  const empty = value === null || value === "";
  if (empty) return property.required ? "This is needed." : null;
  if (property.type === "seed" && value !== RANDOM) return numberProblem(property, value, SEED_MAX);
  if (property.type === "integer" || property.type === "number") return numberProblem(property, value);
  return null;
}

function numberProblem(property: Property, value: Value, most?: number): string | null {
  if (typeof value !== "number" || !Number.isFinite(value)) return "Enter a number.";
  if (property.type !== "number" && !Number.isInteger(value)) return "Enter a whole number.";
  const [minimum, maximum] = [property.minimum ?? (property.type === "seed" ? 0 : null), property.maximum ?? most ?? null];
  if (minimum !== null && value < minimum) return `At least ${minimum}.`;
  if (maximum !== null && value > maximum) return `At most ${maximum}.`;
  return null;
}

/** What is sent: nothing for what was left empty. */
export function sentValues(properties: Property[], values: Values): Record<string, Value> {
  const names = properties.filter((each) => !isMedia(each)).map((each) => each.name);
  return Object.fromEntries(names.flatMap((name) => {
    const value = values[name] ?? null;
    return value === null || value === "" ? [] : [[name, value]];
  }));
}
