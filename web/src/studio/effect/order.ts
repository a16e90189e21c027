/** From chosen files and values to a job: upload, make it known, order. What succeeded is not done twice. */
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { faultOf, FleetFault, isPassing, type Fault } from "@/app/errors";
import { announceFile, announceVideo, confirmFile, createJob, createVideo, renewUpload, type OfferView } from "@/client";
import { newId } from "@/parts/newId";
import { sentValues, type Property, type Values } from "@/parts/properties";
import { walletMoved } from "../wallet/useWallet";
import { refusalText, typeOf } from "./checkFile";
import { INTERRUPTED, sendFile, STOPPED, stopped, type Sending } from "./send";
import { primaryOf } from "./takes";

export type Stage = { name: "ready" } | { name: "sending"; label: string; fraction: number } | { name: "checking" } | { name: "ordering" };
export type Files = Record<string, File>;
type Begun = Sending & { file: File; fileId: string; id: string | null };

/** The server looked into a file and does not take it: said at its field, and not tried again. */
export class FileRefused extends FleetFault {
  readonly property: Property;

  constructor(property: Property, fault: Fault) {
    super({ ...fault, message: refusalText(fault.details, property) });
    this.property = property;
  }
}

/** Who leaves the page stops it. What to do with the job says whoever calls `mutate`: only they know if they still wait. */
export function useOrder(effect: OfferView) {
  const [stage, setStage] = useState<Stage>({ name: "ready" });
  const begun = useRef(new Map<string, Begun>());
  const orderKey = useRef({ said: "", key: "" });
  const stop = useRef(new AbortController());
  const queries = useQueryClient();
  useEffect(() => () => stop.current.abort(), []);

  async function begin(property: Property, file: File): Promise<Begun> {
    const known = begun.current.get(property.name);
    if (known?.file === file) return known;
    const body = { name: file.name || "file", mime_type: typeOf(file), size: file.size };
    const announce = property === primaryOf(effect.properties) ? announceVideo : announceFile;
    const announced = (await announce({ body, throwOnError: true })).data;
    const fileId = announced.file.id;
    const renew = async () => (await renewUpload({ path: { file_id: fileId }, throwOnError: true })).data.upload;
    const fresh = { file, fileId, id: null, upload: announced.upload, signedAt: Date.now(), arrived: new Map<number, string>(), renew };
    begun.current.set(property.name, fresh);
    return fresh;
  }

  async function upload(property: Property, file: File, signal: AbortSignal): Promise<string> {
    const sending = await begin(property, file);
    if (sending.id !== null) return sending.id;
    const tell = (fraction: number) => setStage({ name: "sending", label: file.name, fraction });
    tell(0);
    const parts = await sendFile(file, sending, tell, signal);
    setStage({ name: "checking" });
    sending.id = property === primaryOf(effect.properties)
      ? (await createVideo({ body: { original_file_id: sending.fileId, parts }, throwOnError: true })).data.id
      : (await confirmFile({ path: { file_id: sending.fileId }, body: { parts }, throwOnError: true })).data.id;
    return sending.id;
  }

  async function uploadOrForget(property: Property, file: File, signal: AbortSignal): Promise<string> {
    try {
      return await upload(property, file, signal);
    } catch (problem) {
      // Refused, and not only broken off: the next try begins anew.
      const fault = faultOf(problem);
      if (!isPassing(problem) && ![INTERRUPTED, STOPPED].includes(fault.code)) begun.current.delete(property.name);
      throw fault.code === "media_refused" ? new FileRefused(property, fault) : problem;
    }
  }

  /** The same order gets the same key: sent twice, it is one job and one price. */
  function keyFor(said: string): string {
    if (orderKey.current.said !== said) orderKey.current = { said, key: newId() };
    return orderKey.current.key;
  }

  const mutation = useMutation({
    mutationFn: async ({ values, files }: { values: Values; files: Files }) => {
      stop.current = new AbortController();
      const { signal } = stop.current;
      const properties: Record<string, unknown> = sentValues(effect.properties, values);
      let videoId: string | null = null;
      for (const property of effect.properties) {
        const file = files[property.name];
        if (!file) continue;
        const id = await uploadOrForget(property, file, signal);
        // Whoever stopped it or left while the server looked at the file wants no job either.
        if (signal.aborted) throw stopped();
        if (property.is_primary_input) videoId = id;
        else properties[property.name] = id;
      }
      setStage({ name: "ordering" });
      const order = { effect: effect.slug, video_id: videoId, properties };
      const body = { ...order, idempotency_key: keyFor(JSON.stringify(order)) };
      try {
        return (await createJob({ body, throwOnError: true })).data;
      } catch (problem) {
        // An upload that nothing came of is deleted after some time: what is gone is sent again.
        if (faultOf(problem).details.noun === "video") begun.current.clear();
        throw problem;
      }
    },
    onSuccess: () => {
      // The next order is another one, however alike.
      orderKey.current = { said: "", key: "" };
      void walletMoved(queries);
    },
    onSettled: () => setStage({ name: "ready" }),
  });
  return { ...mutation, stage, stop: () => stop.current.abort() };
}
