/** Bytes to the store by the requests that the server signed: XHR, because fetch tells nothing of an upload's progress. */
import { FleetFault } from "@/app/errors";
import type { RequestView, UploadView } from "@/client";

export type Sent = { number: number; etag: string };
/** An upload that has begun. What arrived stays known here: another try goes on where the last one stopped. */
export type Sending = { upload: UploadView; signedAt: number; arrived: Map<number, string>; renew: () => Promise<UploadView> };
// The browser sets this one itself, and complains about anybody else who does.
const ITS_OWN = "content-length";
const TRIES_MAX = 3;
const AGAIN_MS = 1_000;
// Of a URL's life. A store that refuses an old one may hang up before the refusal is read.
const OLD = 0.5;

export const INTERRUPTED = "upload_interrupted";
export const STOPPED = "upload_stopped";
const EXPIRED = "upload_expired";

export const interrupted = () => new FleetFault({
  code: INTERRUPTED,
  message: "The upload was interrupted. Check your connection and try again; your settings are kept.",
  details: {},
});

export const stopped = () => new FleetFault({
  code: STOPPED,
  message: "Stopped. Nothing was ordered; Start goes on where it stopped.",
  details: {},
});

const refused = (code: string, status: number) => new FleetFault({ code, message: "The upload was refused. Choose the file again.", details: { status } });

const codeOf = (problem: unknown) => (problem instanceof FleetFault ? problem.fault.code : null);

/** Returns the parts' ETags, where it goes in parts. */
export async function sendFile(file: Blob, sending: Sending, told: (fraction: number) => void, signal: AbortSignal): Promise<Sent[]> {
  const { part_size: partSize, requests } = sending.upload;
  for (const index of requests.keys()) {
    if (sending.arrived.has(index)) continue;
    const from = partSize === null ? 0 : index * partSize;
    const piece = partSize === null ? file : file.slice(from, from + partSize);
    sending.arrived.set(index, await sendSteadily(sending, index, piece, (bytes) => told(Math.min((from + bytes) / file.size, 1)), signal));
  }
  if (partSize === null) return [];
  return [...sending.arrived].map(([index, etag]) => ({ number: index + 1, etag }));
}

async function sendSteadily(sending: Sending, index: number, piece: Blob, told: (bytes: number) => void, signal: AbortSignal): Promise<string> {
  let renewed = false;
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await sendOnce(await freshRequest(sending, index), piece, told, signal);
    } catch (problem) {
      if (signal.aborted) throw stopped();
      if (codeOf(problem) === EXPIRED && !renewed) {
        // A large file takes longer than its URLs live. Refused with a fresh one, it is refused for good.
        renewed = true;
        await renew(sending);
      } else if (attempt >= TRIES_MAX || codeOf(problem) !== INTERRUPTED) {
        throw problem;
      } else {
        await pause(AGAIN_MS * attempt, signal);
      }
    }
  }
}

async function freshRequest(sending: Sending, index: number): Promise<RequestView> {
  const life = sending.upload.requests[index]?.expires_in_s ?? 0;
  if (Date.now() - sending.signedAt > life * 1_000 * OLD) await renew(sending);
  const request = sending.upload.requests[index];
  if (!request) throw interrupted();
  return request;
}

async function renew(sending: Sending): Promise<void> {
  sending.upload = await sending.renew();
  sending.signedAt = Date.now();
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  signal.addEventListener("abort", () => {
    clearTimeout(timer);
    reject(stopped());
  }, { once: true });
  return promise;
}

function sendOnce(request: RequestView, piece: Blob, told: (bytes: number) => void, signal: AbortSignal): Promise<string> {
  if (signal.aborted) return Promise.reject(stopped());
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const xhr = new XMLHttpRequest();
  xhr.open(request.method, request.url);
  for (const [name, value] of Object.entries(request.headers)) {
    if (name.toLowerCase() !== ITS_OWN) xhr.setRequestHeader(name, value);
  }
  xhr.upload.onprogress = (event) => told(event.loaded);
  xhr.onerror = () => reject(interrupted());
  xhr.onabort = () => reject(stopped());
  xhr.onload = () => {
    // 412: it is there already, because an answer was lost and not the upload.
    if (xhr.status < 300 || xhr.status === 412) resolve(xhr.getResponseHeader("ETag") ?? "");
    else if (xhr.status >= 500 || xhr.status === 408) reject(interrupted());
    else reject(refused(xhr.status === 403 ? EXPIRED : "upload_refused", xhr.status));
  };
  const abort = () => xhr.abort();
  signal.addEventListener("abort", abort, { once: true });
  xhr.onloadend = () => signal.removeEventListener("abort", abort);
  xhr.send(piece);
  return promise;
}
