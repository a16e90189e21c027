import { ActionIcon, Group, Text, VisuallyHidden } from "@mantine/core";
import type { FileRejection } from "@mantine/dropzone";
import { IconCloudUpload, IconFile, IconX } from "@tabler/icons-react";
import { useEffect, useId, useMemo, useRef, useState } from "react";
import type { InstallationView } from "@/client";
import { bytesText } from "@/parts/amounts";
import { DropZone } from "@/parts/DropZone";
import { FieldFrame } from "@/parts/FieldFrame";
import { Media } from "@/parts/Media";
import type { Property } from "@/parts/properties";
import { fileProblem, limitsText, typeOf } from "./checkFile";
import classes from "./FileField.module.css";

export function FileField({ property, installation, file, problem, disabled, change }: {
  property: Property;
  installation: InstallationView;
  file: File | undefined;
  problem: string | undefined;
  disabled: boolean;
  change: (file: File | undefined, problem: string | undefined) => void;
}) {
  const id = useId();
  const box = useRef<HTMLDivElement>(null);
  const shown = useMemo(() => (file ? URL.createObjectURL(file) : null), [file]);
  useEffect(() => () => { if (shown) URL.revokeObjectURL(shown); }, [shown]);
  const [unseen, setUnseen] = useState<string | null>(null);
  const before = useRef(file);
  useEffect(() => {
    // What had the focus went with the file, or with its lack: it stays in the field, or the next Tab begins at the top.
    // Refused by the server it goes while the form is still busy, and nothing in it takes the focus yet.
    if (disabled || before.current === file) return;
    box.current?.querySelector<HTMLElement>("button, [role=button]")?.focus();
    before.current = file;
  }, [file, disabled]);
  function take(accepted: File[], rejected: FileRejection[]) {
    const [chosen] = [...accepted, ...rejected.map((each) => each.file)];
    if (!chosen) return;
    const wrong = fileProblem(chosen, property, installation);
    change(wrong ? undefined : chosen, wrong ?? undefined);
  }
  return (
    <FieldFrame label={property.label || property.name} description={property.description || undefined} error={problem} withAsterisk={property.required} isToldAtOnce>
      {(tied) => (
        <div ref={box}>
          {file && shown ? (
            <div className={`surface ${classes.chosen}`}>
              {unseen !== shown && (
                <div className={classes.picture}><Media url={shown} mimeType={typeOf(file)} alt={`Your file ${file.name}`} fit="contain" onError={() => setUnseen(shown)} /></div>
              )}
              <Group justify="space-between" wrap="nowrap" p="xs" pl="sm">
                <Group gap="xs" wrap="nowrap" miw={0}>
                  {/* A browser shows less than the server reads: what it cannot show may be right all the same. */}
                  {unseen === shown && <IconFile size={18} stroke={1.6} className={classes.unseen} aria-hidden />}
                  <Text size="sm" truncate id={id}>{file.name} <span className="quiet">· {bytesText(file.size)}</span></Text>
                </Group>
                <ActionIcon variant="subtle" color="gray" aria-label="Choose another file" aria-describedby={id} disabled={disabled} onClick={() => change(undefined, undefined)}>
                  <IconX size={18} />
                </ActionIcon>
              </Group>
            </div>
          ) : (
            <DropZone
              className={classes.zone}
              mod={{ invalid: problem !== undefined }}
              multiple={false}
              disabled={disabled}
              aria-describedby={`${property.required ? `${id}-needed` : ""} ${tied["aria-describedby"] ?? ""}`.trim() || undefined}
              // Everything is taken and looked at here, so that what is wrong can be said in words.
              onDrop={(files) => take(files, [])}
              onReject={(files) => take([], files)}
              inputProps={{ accept: `${property.type}/*` }}
            >
              {/* What stands in it is its name; of which field, is seen above it. */}
              <VisuallyHidden>{property.label || property.name}: </VisuallyHidden>
              <IconCloudUpload size={30} stroke={1.4} aria-hidden />
              <Text fw={550}>Drop {property.type === "video" ? "a clip" : "a picture"} here, or choose one</Text>
              <Text size="xs" className="quiet">{limitsText(property, installation)}</Text>
            </DropZone>
          )}
          {property.required && <VisuallyHidden id={`${id}-needed`}>Needed.</VisuallyHidden>}
        </div>
      )}
    </FieldFrame>
  );
}
