/** What an effect leaves open: first values, and what is wrong with what somebody entered. */
import type { OpenPropertyView } from "@/client";
import { entered, EXACT_MAX, rangeProblem } from "./entered";

export type Property = OpenPropertyView;
export type Value = string | number | boolean | null;
export type Values = Record<string, Value>;

export const RANDOM = "random";
const NUMERIC = ["integer", "number", "seed"];

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
  if (!isNumeric(property) || (property.type === "seed" && value === RANDOM) || isLeftToServer(property, value)) return null;
  if (typeof value === "boolean") return "Enter a number.";
  const { type, minimum, maximum } = property;
  return rangeProblem(value, { least: minimum ?? (type === "seed" ? 0 : null), most: maximum, isWhole: type !== "number" });
}

export const isNumeric = (property: Property) => NUMERIC.includes(property.type);

/** An effect's own seed may be longer than a browser can tell; the server knows it exactly. */
const isLeftToServer = ({ type, default: own }: Property, value: Value) => type === "seed" && typeof value === "number" && value > EXACT_MAX && value === own;

/** What is sent: nothing for what was left empty. */
export function sentValues(properties: Property[], values: Values): Record<string, Value> {
  return Object.fromEntries(properties.filter((each) => !isMedia(each)).flatMap((each) => {
    const value = sentValue(each, values[each.name] ?? null);
    return value === null || value === "" || isLeftToServer(each, value) ? [] : [[each.name, value]];
  }));
}

const sentValue = (property: Property, value: Value) => (isNumeric(property) && typeof value === "string" ? entered(value) : value);
