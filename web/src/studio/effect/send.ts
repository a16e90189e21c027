/** Bytes to the store by the requests that the server signed: XHR, because fetch tells nothing of an upload's progress. */
import { FleetFault } from "@/app/errors";
import type { RequestView, UploadView } from "@/client";

export type Sent = { number: number; etag: string };
// The browser sets this one itself, and complains about anybody else who does.
const ITS_OWN = "content-length";
const TRIES_MAX = 3;
const AGAIN_MS = 1_000;

export const INTERRUPTED = "upload_interrupted";

export const interrupted = () => new FleetFault({
  code: INTERRUPTED,
  message: "The upload was interrupted. Check your connection and try again; your settings are kept.",
  details: {},
});

/** Returns the parts' ETags, where it went in parts. */
export async function sendFile(file: Blob, upload: UploadView, told: (fraction: number) => void, signal: AbortSignal): Promise<Sent[]> {
  const { part_size: partSize, requests } = upload;
  const sent: Sent[] = [];
  for (const [index, request] of requests.entries()) {
    const from = partSize === null ? 0 : index * partSize;
    const piece = partSize === null ? file : file.slice(from, from + partSize);
    const etag = await sendSteadily(request, piece, (bytes) => told(Math.min((from + bytes) / file.size, 1)), signal);
    if (partSize !== null) sent.push({ number: index + 1, etag: etag ?? "" });
  }
  return sent;
}

async function sendSteadily(request: RequestView, piece: Blob, told: (bytes: number) => void, signal: AbortSignal): Promise<string | null> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await sendOnce(request, piece, told, signal);
    } catch (problem) {
      if (signal.aborted || attempt === TRIES_MAX || (problem instanceof FleetFault && problem.fault.code !== INTERRUPTED)) throw problem;
      await new Promise((resolve) => setTimeout(resolve, AGAIN_MS * attempt));
    }
  }
}

function sendOnce(request: RequestView, piece: Blob, told: (bytes: number) => void, signal: AbortSignal): Promise<string | null> {
  const { promise, resolve, reject } = Promise.withResolvers<string | null>();
  const xhr = new XMLHttpRequest();
  xhr.open(request.method, request.url);
  for (const [name, value] of Object.entries(request.headers)) {
    if (name.toLowerCase() !== ITS_OWN) xhr.setRequestHeader(name, value);
  }
  xhr.upload.onprogress = (event) => told(event.loaded);
  xhr.onerror = () => reject(interrupted());
  xhr.onabort = () => reject(interrupted());
  xhr.onload = () => {
    // 412: it is there already, because an answer was lost and not the upload.
    if (xhr.status < 300 || xhr.status === 412) resolve(xhr.getResponseHeader("ETag"));
    else if (xhr.status >= 500 || xhr.status === 408) reject(interrupted());
    else reject(new FleetFault({ code: "upload_refused", message: "The upload was refused. Choose the file again.", details: { status: xhr.status } }));
  };
  signal.addEventListener("abort", () => xhr.abort(), { once: true });
  xhr.send(piece);
  return promise;
}
