import { Center, Text } from "@mantine/core";
import { IconFile, IconPhotoOff } from "@tabler/icons-react";
import { useState } from "react";
import classes from "./Media.module.css";

export const isClip = (mimeType: string | null | undefined) => mimeType?.startsWith("video/") ?? false;
export const isStill = (mimeType: string | null | undefined) => mimeType?.startsWith("image/") ?? false;

type Shown = { url: string | null | undefined; mimeType: string | null | undefined; alt: string };

/** A picture or a clip that fills its box; a clip plays without sound, unless people prefer less motion. */
export function Media({ url, mimeType, alt, fit = "cover", onError }: Shown & { fit?: "cover" | "contain"; onError?: () => void }) {
  const [broken, setBroken] = useState<string | null>(null);
  if (!url) return <div className={classes.unseen} />;
  if (broken === url) return <Center className={classes.none}><IconPhotoOff size={28} stroke={1.3} {...(alt ? { role: "img", "aria-label": alt } : { "aria-hidden": true })} /></Center>;
  const style = { objectFit: fit };
  const failed = () => {
    setBroken(url);
    onError?.();
  };
  if (isClip(mimeType)) {
    const still = window.matchMedia("(prefers-reduced-motion: reduce)").matches;
    return <video className={classes.media} style={style} src={url} muted loop playsInline autoPlay={!still} preload="metadata" aria-label={alt} onError={failed} />;
  }
  if (isStill(mimeType)) {
    return <img className={classes.media} style={style} src={url} alt={alt} loading="lazy" decoding="async" onError={failed} />;
  }
  return <Center className={classes.none}><IconFile size={28} stroke={1.3} /><Text size="xs">{mimeType}</Text></Center>;
}
