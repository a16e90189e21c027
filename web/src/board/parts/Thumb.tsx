/** A small picture; a quiet square where there is none. */
import { useState } from "react";
import { useConnection } from "@/app/live";
import classes from "./Thumb.module.css";

export function Thumb({ url, alt, side, dim = false }: { url: string | null; alt: string; side?: number; dim?: boolean }) {
  // What could not be had while the server was away is asked for again when it is back.
  const connection = useConnection();
  const asked = `${connection} ${url}`;
  const [broken, setBroken] = useState<string | null>(null);
  const size = side ? { width: side, height: side } : undefined;
  if (url === null || broken === asked) return <span className={classes.none} style={size} role="img" aria-label={`${alt}: no picture`} />;
  return (
    <img
      className={classes.thumb}
      data-dim={dim}
      style={size}
      src={url}
      alt={alt}
      loading="lazy"
      decoding="async"
      onError={() => setBroken(asked)}
    />
  );
}
