// Judges values by definitions of OpenClaw's published protocol schema, with the validator that its package uses.
// First argument: the folder the package is installed in. On stdin: [{"schema": "/definitions/HelloOk", "value": …}].
// On stdout, for each: the differences, [{"path", "rule", "names"}].
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const folder = process.argv[2];
const { Errors } = await import(pathToFileURL(createRequire(join(folder, "package.json")).resolve("typebox/value")));
const file = join(folder, "node_modules", "@openclaw", "gateway-protocol", "protocol.schema.json");
const document = JSON.parse(readFileSync(file, "utf8"));

function at(pointer) {
  let found = document;
  for (const key of pointer.split("/").slice(1)) found = found?.[key];
  if (found === undefined) throw new Error(`the schema has no ${pointer}`);
  return found;
}

const out = JSON.parse(readFileSync(0, "utf8")).map(({ schema, value }) =>
  Errors(at(schema), value).map((e) => ({
    path: e.instancePath,
    rule: e.keyword,
    names: e.params.additionalProperties ?? e.params.requiredProperties ?? [],
  })),
);
process.stdout.write(JSON.stringify(out));
