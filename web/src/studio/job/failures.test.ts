import { describe, expect, it } from "vitest";
import { isWorthAnotherTry, isWorthChanging, sentenceFor } from "./failures";

describe("why a job failed", () => {
  it("is said in whole sentences, with what may help", () => {
    for (const error_class of ["user_input", "workflow_invalid", "execution_error", "out_of_memory", "server_fault", "infra", "interrupted", "timeout"]) {
      expect(sentenceFor({ error_class })).toMatch(/^[A-Z].*\.$/);
      expect(sentenceFor({ error_class })).not.toBe(sentenceFor({ error_class: null }));
      expect(sentenceFor({ error_class })).not.toMatch(/file|picture|clip/);
    }
  });
  it("is said of what nobody has heard of, too", () => expect(sentenceFor({ error_class: "gremlins" })).toMatch(/Try again/));
  it("decides what is offered first", () => {
    expect(["user_input", "workflow_invalid", "infra", null].map((error_class) => isWorthChanging({ error_class }))).toEqual([true, true, false, false]);
    expect(["user_input", "workflow_invalid", "infra", null].map((error_class) => isWorthAnotherTry({ error_class }))).toEqual([true, false, true, true]);
  });
});
