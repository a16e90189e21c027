import { Input } from "@mantine/core";
import { useId, type ReactNode } from "react";

type Tied = { "aria-labelledby": string; "aria-describedby": string | undefined };

/** Name, words and what is wrong, around something that is no input; `children` gets what ties it to them. */
export function FieldFrame({ label, description, error, withAsterisk, isToldAtOnce, children }: {
  label: string;
  description?: string;
  error?: string;
  withAsterisk?: boolean;
  /** For what goes wrong without anybody being taken there. */
  isToldAtOnce?: boolean;
  children: (tied: Tied) => ReactNode;
}) {
  const id = useId();
  const said = `${id}-said`;
  const wrong = `${id}-wrong`;
  return (
    <Input.Wrapper
      label={label}
      description={description}
      error={error}
      withAsterisk={withAsterisk}
      labelElement="div"
      labelProps={{ id }}
      descriptionProps={{ id: said }}
      errorProps={{ id: wrong, role: isToldAtOnce ? "alert" : undefined }}
    >
      {children({ "aria-labelledby": id, "aria-describedby": [description && said, error && wrong].filter(Boolean).join(" ") || undefined })}
    </Input.Wrapper>
  );
}
