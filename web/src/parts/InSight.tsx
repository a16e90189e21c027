import { useEffect, useRef, type ReactNode } from "react";
import classes from "./InSight.module.css";

/** What has come up beside what somebody does, and may stand below the screen: brought into sight, no further than needed. */
export function InSight({ children }: { children: ReactNode }) {
  const place = useRef<HTMLDivElement>(null);
  // In braces: newer browsers return a promise, which an effect would take for what undoes it.
  useEffect(() => {
    place.current?.scrollIntoView({ block: "nearest" });
  }, []);
  return <div ref={place} className={classes.place}>{children}</div>;
}
