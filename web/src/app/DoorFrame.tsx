import type { ReactNode } from "react";
import { SchemeSwitch } from "./AccountMenu";
import { Mark } from "./Brand";
import classes from "./DoorFrame.module.css";

/** Around pages for those who are not logged in. */
export function DoorFrame({ children }: { children: ReactNode }) {
  return (
    <div className={classes.page}>
      <header className={classes.header}>
        <Mark />
        <SchemeSwitch />
      </header>
      <main className={classes.main}>
        <div className={`surface ${classes.card}`}>{children}</div>
      </main>
    </div>
  );
}
