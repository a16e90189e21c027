/** Each answer of the server signs addresses anew. What is shown stays at its first one: another would load the same file
 * again, and stop a clip that plays. Once the first does not work any more, the newest is taken. */
import { useState } from "react";

export type Lasting = { src: string | undefined; onError: () => void };

export function useLasting(fileId: string | null | undefined, url: string | null | undefined): Lasting {
  const [kept, keep] = useState({ fileId, url, isBroken: false });
  const isSpent = kept.fileId !== fileId || !kept.url || kept.isBroken;
  if (isSpent && url && url !== kept.url) keep({ fileId, url, isBroken: false });
  return { src: (isSpent ? url : kept.url) ?? undefined, onError: () => keep((known) => ({ ...known, isBroken: true })) };
}
