import type { ComponentProps } from "react";
import { sentenceOf } from "@/gateway/calls";
import { folderChooser } from "@/platform/window";
import { Button } from "@/ui/Button";
import { TextField } from "@/ui/Field";
import { toast } from "@/ui/Toasts";

interface FolderFieldProps extends Omit<ComponentProps<typeof TextField>, "label" | "value" | "onChange" | "beside"> {
  value: string;
  onChange: (path: string) => void;
}

/** The path of a folder: written, or in the native window also chosen with the system's own chooser. */
export function FolderField({ value, onChange, ...rest }: FolderFieldProps) {
  const choose = folderChooser();
  const ask = (): void => {
    choose?.().then(
      // Closing the chooser leaves what was there.
      (path) => path && onChange(path),
      (error: unknown) => toast(sentenceOf(error), { tone: "failed" }),
    );
  };
  return (
    <TextField
      label="Folder"
      value={value}
      onChange={(event) => onChange(event.target.value)}
      beside={choose ? <Button onClick={ask}>Choose…</Button> : null}
      {...rest}
    />
  );
}
