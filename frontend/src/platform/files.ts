/** A file the person chose, with its bytes as base64. */
export interface PickedFile {
  fileName: string;
  mimeType: string;
  size: number;
  content: string;
}

/** Reads a file whole. Rejects when the file cannot be read, for example because it is a folder. */
export async function readFile(file: File): Promise<PickedFile> {
  const bytes = new Uint8Array(await file.arrayBuffer());
  return {
    fileName: file.name || "pasted-file",
    mimeType: file.type || "application/octet-stream",
    size: bytes.length,
    content: toBase64(bytes),
  };
}

/** Bytes as base64, in pieces, since a spread of millions of arguments overflows the stack. */
export function toBase64(bytes: Uint8Array): string {
  let binary = "";
  const piece = 0x8000;
  for (let at = 0; at < bytes.length; at += piece) {
    binary += String.fromCharCode(...bytes.subarray(at, at + piece));
  }
  return btoa(binary);
}
