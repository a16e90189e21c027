import { ActionIcon, Group, Input, Text } from "@mantine/core";
import { Dropzone, type FileRejection } from "@mantine/dropzone";
import "@mantine/dropzone/styles.css";
import { IconCloudUpload, IconX } from "@tabler/icons-react";
import { useEffect, useId, useMemo } from "react";
import type { InstallationView } from "@/client";
import { bytesText } from "@/parts/amounts";
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
  const shown = useMemo(() => (file ? URL.createObjectURL(file) : null), [file]);
  useEffect(() => () => { if (shown) URL.revokeObjectURL(shown); }, [shown]);
  const label = property.label || property.name;
  function take(accepted: File[], rejected: FileRejection[]) {
    const [chosen] = [...accepted, ...rejected.map((each) => each.file)];
    if (!chosen) return;
    const wrong = fileProblem(chosen, property, installation);
    change(wrong ? undefined : chosen, wrong ?? undefined);
  }
  return (
    <Input.Wrapper label={label} description={property.description || undefined} error={problem} withAsterisk={property.required} labelElement="div" labelProps={{ id }}>
      {file && shown ? (
        <div className={`surface ${classes.chosen}`}>
          <div className={classes.picture}><Media url={shown} mimeType={typeOf(file)} alt={`Your file ${file.name}`} fit="contain" /></div>
          <Group justify="space-between" wrap="nowrap" p="xs" pl="sm">
            <Text size="sm" truncate>{file.name} <span className="quiet">· {bytesText(file.size)}</span></Text>
            <ActionIcon variant="subtle" color="gray" aria-label="Choose another file" disabled={disabled} onClick={() => change(undefined, undefined)}>
              <IconX size={18} />
            </ActionIcon>
          </Group>
        </div>
      ) : (
        <Dropzone
          className={classes.zone}
          multiple={false}
          disabled={disabled}
          // Everything is taken and looked at here, so that what is wrong can be said in words.
          onDrop={(files) => take(files, [])}
          onReject={(files) => take([], files)}
          inputProps={{ "aria-labelledby": id, accept: `${property.type}/*` }}
        >
          <IconCloudUpload size={30} stroke={1.4} aria-hidden />
          <Text fw={550}>Drop {property.type === "video" ? "a clip" : "a picture"} here, or choose one</Text>
          <Text size="xs" className="quiet">{limitsText(property, installation)}</Text>
        </Dropzone>
      )}
    </Input.Wrapper>
  );
}
