/** What cannot be taken, and why: most of it is said before a byte is sent. */
import type { InstallationView } from "@/client";
import { bytesText } from "@/parts/amounts";
import type { Property } from "@/parts/properties";

const NAMES: Record<string, string> = {
  "image/png": "PNG", "image/jpeg": "JPEG", "image/webp": "WebP", "image/gif": "GIF",
  "video/mp4": "MP4", "video/quicktime": "MOV", "video/webm": "WebM", "video/x-matroska": "MKV",
};
// Some systems name no type for these.
const BY_ENDING: Record<string, string> = { mkv: "video/x-matroska", mov: "video/quicktime", webp: "image/webp" };

export function typeOf(file: { name: string; type: string }): string {
  return file.type || (BY_ENDING[file.name.split(".").at(-1)?.toLowerCase() ?? ""] ?? "");
}

export const acceptedTypes = (property: Property, installation: InstallationView) =>
  installation.media_types.filter((each) => each.startsWith(`${property.type}/`));

export function fileProblem(file: { name: string; type: string; size: number }, property: Property, installation: InstallationView): string | null {
  const accepted = acceptedTypes(property, installation);
  const type = typeOf(file);
  if (!accepted.includes(type)) {
    const wanted = property.type === "video" ? "a clip" : "a picture";
    return `This is not ${wanted} that can be used here. Choose ${accepted.map((each) => NAMES[each] ?? each).join(", ")}.`;
  }
  if (file.size === 0) return "This file is empty. Choose another one.";
  const most = property.type === "video" ? installation.upload_bytes_max : installation.image_bytes_max;
  if (file.size > most) return `This file is too large: ${bytesText(file.size)}. The most is ${bytesText(most)}.`;
  return null;
}

/** What only the server saw, once it had the file. Its own words are for programs where the content is another than the name says. */
export function refusalText({ holds, problem }: Record<string, unknown>, property: Property): string {
  const wrong = typeof holds === "string" ? `is not ${property.type === "video" ? "a clip" : "a picture"} that can be read` : String(problem);
  return `This file ${wrong}. Choose another one.`;
}

export const limitsText = (property: Property, installation: InstallationView) =>
  `${acceptedTypes(property, installation).map((each) => NAMES[each] ?? each).join(", ")} · up to ${bytesText(
    property.type === "video" ? installation.upload_bytes_max : installation.image_bytes_max,
  )}`;
