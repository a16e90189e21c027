import { Dropzone, type DropzoneProps } from "@mantine/dropzone";
import "@mantine/dropzone/styles.css";

/** Where a file is dropped or chosen. A button, with the name that is given to it: what takes the focus has neither by itself. */
export function DropZone({ inputProps, ...props }: DropzoneProps) {
  // The field for the file is inside the button and only its means: nobody meets it.
  return <Dropzone role="button" inputProps={{ ...inputProps, style: { display: "none" } }} {...props} />;
}
