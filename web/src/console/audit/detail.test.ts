import { describe, expect, it } from "vitest";
import { detailText } from "./detail";

describe("more about what was done", () => {
  it.each([
    [{}, ""],
    [{ changed: ["credits_cost", "name"], credits_cost: 4 }, "changed: credits cost, name; credits cost: 4"],
    [{ workflows: ["my_flow"], scopes: [] }, "workflows: my_flow; scopes: none"],
    [{ structure_hash: "a".repeat(64), is_active: true }, "structure hash: aaaaaaaaaaaa…; is active: true"],
  ])("%j", (detail, text) => {
    expect(detailText(detail)).toBe(text);
  });
});
