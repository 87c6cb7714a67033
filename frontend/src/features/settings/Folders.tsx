import { FolderOpen, FolderPlus } from "lucide-react";
import { type SubmitEvent, useEffect, useState } from "react";
import { FolderField } from "@/cards/FolderField";
import type { Folder } from "@/gateway/protocol.gen";
import { addFolder, loadFolders, removeFolder, useSettings } from "@/state/settings";
import { Button } from "@/ui/Button";
import { Confirm } from "@/ui/Confirm";
import { Card, Row, Section } from "@/ui/Page";
import { Switch } from "@/ui/Switch";
import { attempt } from "./change";
import styles from "./settings.module.css";

/** The folders an agent may use. */
export function Folders() {
  const folders = useSettings((state) => state.folders);
  const [removing, setRemoving] = useState<Folder>();
  useEffect(() => attempt(loadFolders), []);
  return (
    <>
      <Section title="Folders" lead="Your agent reads and changes files only here. Every change is asked for first.">
        <Card label="Folders">
          <Row mark={<FolderOpen />} title={<code>{folders?.workspace ?? "…"}</code>} note="The workspace" />
          {(folders?.folders ?? []).map((folder) => (
            <Row
              key={folder.path}
              mark={<FolderOpen />}
              title={<code>{folder.path}</code>}
              note={
                folder.missing
                  ? "Not found right now"
                  : folder.writable
                    ? "Reading, and changing after asking"
                    : "Reading only"
              }
            >
              <Button aria-label={`Remove ${folder.path}`} onClick={() => setRemoving(folder)}>
                Remove
              </Button>
            </Row>
          ))}
        </Card>
      </Section>
      <AddFolder />
      {removing ? (
        <Confirm
          title="Remove this folder?"
          text={`Your agent can no longer reach ${removing.path}. The folder itself is not touched.`}
          verb="Remove"
          onClose={() => setRemoving(undefined)}
          onConfirm={() => attempt(() => removeFolder(removing.path))}
        />
      ) : null}
    </>
  );
}

function AddFolder() {
  const [path, setPath] = useState("");
  const [writable, setWritable] = useState(false);
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    if (path.trim() === "") return;
    attempt(async () => {
      await addFolder(path.trim(), writable);
      setPath("");
      setWritable(false);
    });
  };
  return (
    <Section title="Add a folder">
      <form className={styles.narrow} onSubmit={submit}>
        <FolderField placeholder="/home/you/Documents/project" hint="The whole path" value={path} onChange={setPath} />
        <Switch
          label="It may change files there"
          hint="Still asked each time. Off means reading only."
          checked={writable}
          onChange={setWritable}
        />
        <Button type="submit" icon={<FolderPlus />} disabled={path.trim() === ""}>
          Add folder
        </Button>
      </form>
    </Section>
  );
}
