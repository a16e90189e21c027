import { NumberInput, type NumberInputProps } from "@mantine/core";
import { useState } from "react";
import { entered, type Entered } from "./entered";

type Props = Omit<NumberInputProps, "value" | "defaultValue" | "onChange"> & { value: Entered; change: (value: Entered) => void };

/** A field for a number that can be typed key by key: what stands there is what was typed, what is told is the number in it. */
export function NumberEntry({ value, change, ...props }: Props) {
  const [typed, type] = useState<string | number>("");
  const told = entered(typed);
  // Whoever keeps numbers alone keeps nothing of what is on its way to one.
  const isOurs = told === value || (value === null && typeof told === "string");
  return (
    <NumberInput
      // What is wrong is said in a sentence. Nothing is put right behind somebody's back: a long seed would become another one.
      clampBehavior="none"
      trimLeadingZeroesOnBlur={false}
      {...props}
      value={isOurs ? typed : (value ?? "")}
      onChange={(next) => {
        type(next);
        change(entered(next));
      }}
    />
  );
}
