import { describe, expect, it } from "vitest";
import { sentenceOf } from "./errors";

describe("what a person reads", () => {
  it("is not the name of a move", () => {
    const refused = { code: "illegal_move", message: "A job that is expired cannot be moved by 'retry'.", details: {} };
    expect(sentenceOf({ error: refused })).toBe("Meanwhile this has moved on: look again.");
  });

  it("is what the server says where that is for people", () => {
    expect(sentenceOf({ error: { code: "link_spent", message: "Ask for a new one." } })).toBe("Ask for a new one.");
  });
});
