import { useState } from "react";
import type { Lasting } from "@/parts/lasting";
import classes from "./Compare.module.css";

export const NO_SIZE = { width: 3, height: 2 };
const WIDTH_MIN_PX = 620;

/** As large as it is and the screen allows, and never a stamp. Both layers fill it, so that they cover each other. */
export function boxOf({ width, height }: { width: number; height: number }) {
  const ratio = width / height;
  return { aspectRatio: ratio, width: `min(100%, calc(72vh * ${ratio.toFixed(4)}), ${Math.max(width, WIDTH_MIN_PX)}px)` };
}

/** Before and after in one frame, parted by a line that pointer and arrow keys move. */
export function CompareStills({ before, after }: { before: Lasting; after: Lasting }) {
  const [at, setAt] = useState(50);
  const [size, setSize] = useState(NO_SIZE);
  return (
    <div className={`surface ${classes.box}`} style={boxOf(size)}>
      <img
        {...after}
        alt="After"
        className={classes.after}
        onLoad={({ currentTarget: { naturalWidth, naturalHeight } }) => setSize({ width: naturalWidth, height: naturalHeight })}
      />
      <img {...before} alt="Before" className={classes.before} style={{ clipPath: `inset(0 ${100 - at}% 0 0)` }} />
      <Divider at={at} setAt={setAt} />
    </div>
  );
}

export function Divider({ at, setAt }: { at: number; setAt: (at: number) => void }) {
  return (
    <>
      <span className={classes.label} data-side="before" aria-hidden>before</span>
      <span className={classes.label} data-side="after" aria-hidden>after</span>
      <span className={classes.line} style={{ left: `${at}%` }} aria-hidden />
      <input
        type="range"
        min={0}
        max={100}
        value={at}
        className={classes.range}
        aria-label="How much of the picture before is shown"
        onChange={(event) => setAt(Number(event.currentTarget.value))}
      />
    </>
  );
}
