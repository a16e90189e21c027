/** From chosen files and values to a job: upload, make it known, order. What succeeded is not done twice. */
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useRef, useState } from "react";
import { announceFile, announceVideo, confirmFile, createJob, createVideo, type JobView, type OfferView } from "@/client";
import { getWalletQueryKey } from "@/client/@tanstack/react-query.gen";
import { sentValues, type Property, type Values } from "@/parts/properties";
import { typeOf } from "./checkFile";
import { sendFile } from "./send";
import { primaryOf } from "./takes";

export type Stage = { name: "ready" } | { name: "sending"; label: string; fraction: number } | { name: "checking" } | { name: "ordering" };
export type Files = Record<string, File>;
type Kept = { file: File; id: string };

export function useOrder(effect: OfferView, done: (job: JobView) => void) {
  const [stage, setStage] = useState<Stage>({ name: "ready" });
  const uploaded = useRef(new Map<string, Kept>());
  const orderKey = useRef({ said: "", key: "" });
  const stop = useRef(new AbortController());
  const queries = useQueryClient();

  async function upload(property: Property, file: File): Promise<string> {
    const kept = uploaded.current.get(property.name);
    if (kept?.file === file) return kept.id;
    const primary = property === primaryOf(effect.properties);
    const body = { name: file.name || "file", mime_type: typeOf(file), size: file.size };
    const announced = (await (primary ? announceVideo : announceFile)({ body, throwOnError: true })).data;
    const tell = (fraction: number) => setStage({ name: "sending", label: file.name, fraction });
    tell(0);
    const parts = await sendFile(file, announced.upload, tell, stop.current.signal);
    setStage({ name: "checking" });
    const fileId = announced.file.id;
    const id = primary
      ? (await createVideo({ body: { original_file_id: fileId, parts }, throwOnError: true })).data.id
      : (await confirmFile({ path: { file_id: fileId }, body: { parts }, throwOnError: true })).data.id;
    uploaded.current.set(property.name, { file, id });
    return id;
  }

  /** The same order gets the same key: sent twice, it is one job and one price. */
  function keyFor(said: string): string {
    if (orderKey.current.said !== said) orderKey.current = { said, key: crypto.randomUUID?.() ?? `${Date.now()}-${Math.random()}` };
    return orderKey.current.key;
  }

  const mutation = useMutation({
    mutationFn: async ({ values, files }: { values: Values; files: Files }) => {
      stop.current = new AbortController();
      const properties: Record<string, unknown> = sentValues(effect.properties, values);
      let videoId: string | null = null;
      for (const property of effect.properties) {
        const file = files[property.name];
        if (!file) continue;
        const id = await upload(property, file);
        if (property.is_primary_input) videoId = id;
        else properties[property.name] = id;
      }
      setStage({ name: "ordering" });
      const order = { effect: effect.slug, video_id: videoId, properties };
      const body = { ...order, idempotency_key: keyFor(JSON.stringify(order)) };
      return (await createJob({ body, throwOnError: true })).data;
    },
    onSuccess: (job) => {
      // The next order is another one, however alike.
      orderKey.current = { said: "", key: "" };
      void queries.invalidateQueries({ queryKey: getWalletQueryKey() });
      done(job);
    },
    onSettled: () => setStage({ name: "ready" }),
  });
  return { ...mutation, stage, stop: () => stop.current.abort() };
}
