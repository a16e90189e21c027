import { useState } from "react";
import classes from "./Compare.module.css";

/** Before and after in one frame, parted by a line that pointer and arrow keys move. */
export function CompareStills({ before, after }: { before: string; after: string }) {
  const [at, setAt] = useState(50);
  return (
    <div className={`surface ${classes.box}`}>
      <img src={after} alt="After" className={classes.after} />
      <img src={before} alt="Before" className={classes.before} style={{ clipPath: `inset(0 ${100 - at}% 0 0)` }} />
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
