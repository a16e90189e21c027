import { expect, test } from "vitest";
import { bodyOf, draftOf, emptyProblems, NEW_CLASS, refusedField } from "./draft";

const SAID = {
  min_workers: 0, max_workers: 3, buffer: 0, target_wait_s: 30, eagerness: "normal", budget_per_hour: 12, down_delay_s: null, first_start_s: 180, load_window_s: 900,
  classes: [{ name: "a10", speed: 1.5, memory_gb: 24, offers: [{ market: "spot", price: 0.4 }], zones: ["a", "b"] }],
} as const;

test("what is shown and not changed is sent as it was", () => {
  expect(bodyOf(draftOf(structuredClone(SAID) as never))).toEqual(SAID);
});

test("an emptied price is none, and no zone is one without a name", () => {
  const draft = { ...draftOf(structuredClone(SAID) as never), budget: null, classes: [{ ...NEW_CLASS, name: " local " }] };
  const body = bodyOf(draft);
  expect(body.budget_per_hour).toBeNull();
  expect(body.classes).toEqual([{ name: "local", speed: 1, memory_gb: null, offers: [{ market: "on_demand", price: null }], zones: [""] }]);
});

test("what is no number is said before it is sent", () => {
  const draft = { ...draftOf(structuredClone(SAID) as never), most: null, buffer: 1.5, delay: "soon" };
  expect(emptyProblems(draft)).toEqual({ max_workers: "Enter a number.", buffer: "Enter a whole number.", down_delay_s: "Enter a number." });
  expect(emptyProblems(draftOf(structuredClone(SAID) as never))).toEqual({});
});

test("a refusal names its field", () => {
  const refusal = { error: { code: "invalid_input", message: "min_workers: is 5", details: { field: "min_workers", problem: "is 5" } } };
  const draft = draftOf(structuredClone(SAID) as never);
  expect(refusedField(refusal, draft)).toEqual({ field: "min_workers", problem: "is 5" });
  expect(refusedField(new TypeError("no answer"), draft)).toBeNull();
  const misshapen = (field: string) => ({ error: { code: "invalid_request", message: "", details: { problems: [{ field, problem: "too large" }] } } });
  expect(refusedField(misshapen("buffer"), draft)).toEqual({ field: "buffer", problem: "too large" });
  expect(refusedField(misshapen("classes.0.offers.0.price"), draft)).toEqual({ field: "classes.a10.spot.price", problem: "too large" });
  expect(refusedField(misshapen("classes.0.speed"), draft)).toEqual({ field: "classes.a10.speed", problem: "too large" });
});
