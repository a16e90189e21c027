import { describe, expect, it } from "vitest";
import type { InstallationView } from "@/client";
import type { Property } from "@/parts/properties";
import { fileProblem, refusalText, typeOf } from "./checkFile";

const installation: InstallationView = {
  media_types: ["image/png", "image/jpeg", "video/mp4", "video/x-matroska"],
  upload_bytes_max: 5 * 1024 ** 3, image_bytes_max: 64 * 1024 ** 2, duration_s_max: 600, get_tokens_text: null, get_tokens_url: null,
};
const picture = { name: "picture", type: "image" } as Property;
const film = { name: "film", type: "video" } as Property;

describe("a file, before a byte is sent", () => {
  it.each([
    [{ name: "a.png", type: "image/png", size: 10 }, picture, null],
    [{ name: "a.mkv", type: "", size: 10 }, film, null],
    [{ name: "a.pdf", type: "application/pdf", size: 10 }, picture, "This is not a picture that can be used here. Choose PNG, JPEG."],
    [{ name: "a.png", type: "image/png", size: 10 }, film, "This is not a clip that can be used here. Choose MP4, MKV."],
    [{ name: "a.svg", type: "image/svg+xml", size: 10 }, picture, "This is not a picture that can be used here. Choose PNG, JPEG."],
    [{ name: "a.png", type: "image/png", size: 0 }, picture, "This file is empty. Choose another one."],
    [{ name: "a.png", type: "image/png", size: 65 * 1024 ** 2 }, picture, "This file is too large: 65.0 MB. The most is 64.0 MB."],
  ])("is taken or refused in words: %#", (file, property, problem) => {
    expect(fileProblem(file, property, installation)).toBe(problem);
  });
  it("is known by its ending where the system names no type", () => {
    expect(typeOf({ name: "A.MOV", type: "" })).toBe("video/quicktime");
    expect(typeOf({ name: "none", type: "" })).toBe("");
  });
});

describe("a file that the server refused", () => {
  it.each([
    [{ field: "original_file_id", problem: "was announced as video/mp4, but holds HTML", holds: "HTML" }, film, "This file is not a clip that can be read. Choose another one."],
    [{ field: "original_file_id", problem: "was announced as image/png, but holds png", holds: "png" }, picture, "This file is not a picture that can be read. Choose another one."],
    [{ field: "original_file_id", problem: "lasts 700.0 s, and 600 s are the most", holds: null }, film, "This file lasts 700.0 s, and 600 s are the most. Choose another one."],
  ])("is spoken of in words for people: %#", (details, property, said) => expect(refusalText(details, property)).toBe(said));
});
