import type { ReactNode } from "react";
import classes from "./Facts.module.css";

/** Names and values; what is not known is left out. */
export function Facts({ facts }: { facts: Record<string, ReactNode> }) {
  const known = Object.entries(facts).filter(([, value]) => value !== null && value !== undefined && value !== "");
  return (
    <dl className={classes.facts}>
      {known.map(([name, value]) => (
        <div key={name} className={classes.fact}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
