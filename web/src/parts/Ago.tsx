import { Text, Tooltip } from "@mantine/core";
import { useEffect, useState } from "react";

const UNITS: [Intl.RelativeTimeFormatUnit, number][] = [["day", 86_400], ["hour", 3_600], ["minute", 60]];
const RELATIVE = new Intl.RelativeTimeFormat("en", { numeric: "auto" });

export function ago(at: string, now: number): string {
  const seconds = (new Date(at).getTime() - now) / 1000;
  for (const [unit, size] of UNITS) {
    if (Math.abs(seconds) >= size) return RELATIVE.format(Math.round(seconds / size), unit);
  }
  return seconds > 1 ? "in a moment" : "just now";
}

/** How long ago, with the exact time under the pointer. */
export function Ago({ at }: { at: string }) {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    const timer = window.setInterval(() => setNow(Date.now()), 30_000);
    return () => window.clearInterval(timer);
  }, []);
  return (
    <Tooltip label={new Date(at).toLocaleString()}>
      <Text component="time" dateTime={at} inherit style={{ whiteSpace: "nowrap" }}>{ago(at, now)}</Text>
    </Tooltip>
  );
}
