import { IconCoin } from "@tabler/icons-react";
import classes from "./Tokens.module.css";

const NUMBER = new Intl.NumberFormat("en");

export const tokensText = (amount: number) => `${NUMBER.format(amount)} ${Math.abs(amount) === 1 ? "token" : "tokens"}`;

/** An amount of tokens; `signed` shows + and −. */
export function Tokens({ amount, signed = false }: { amount: number; signed?: boolean }) {
  const text = signed && amount !== 0 ? `${amount > 0 ? "+" : "−"}${NUMBER.format(Math.abs(amount))}` : NUMBER.format(amount);
  return (
    <span className={`${classes.tokens} numbers`}>
      <IconCoin className={classes.coin} size="1.05em" stroke={1.7} aria-hidden />
      {text}
      <span className={classes.unit}>{Math.abs(amount) === 1 ? " token" : " tokens"}</span>
    </span>
  );
}
