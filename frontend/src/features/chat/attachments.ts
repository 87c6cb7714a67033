import { useState } from "react";
import { MAX_ATTACHMENT, MAX_IMAGE } from "@/gateway/protocol.gen";
import { type PickedFile, readFile } from "@/platform/files";
import { formatBytes } from "@/ui/format";

/** Why a file cannot be attached; nothing when it can. */
export function refusal(file: { name: string; type: string; size: number }): string | undefined {
  const limit = file.type.startsWith("image/") ? MAX_IMAGE : MAX_ATTACHMENT;
  if (file.size === 0) return `${file.name} is empty.`;
  if (file.size > limit)
    return `${file.name} is ${formatBytes(file.size)}; at most ${formatBytes(limit)} can be attached.`;
  return undefined;
}

interface Attachments {
  files: readonly PickedFile[];
  problem: string | undefined;
  add: (chosen: Iterable<File>) => Promise<void>;
  remove: (file: PickedFile) => void;
  clear: () => void;
}

/** The files that go with the next message. */
export function useAttachments(): Attachments {
  const [files, setFiles] = useState<readonly PickedFile[]>([]);
  const [problem, setProblem] = useState<string>();
  return {
    files,
    problem,
    async add(chosen) {
      setProblem(undefined);
      for (const file of chosen) {
        const why = refusal(file);
        if (why) {
          setProblem(why);
          continue;
        }
        try {
          const picked = await readFile(file);
          setFiles((before) => [...before, picked]);
        } catch {
          setProblem(`${file.name} cannot be read. Folders cannot be attached; choose files.`);
        }
      }
    },
    remove: (file) => setFiles((before) => before.filter((each) => each !== file)),
    clear() {
      setFiles([]);
      setProblem(undefined);
    },
  };
}
