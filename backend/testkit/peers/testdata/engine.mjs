// A real engine (llama.cpp by node-llama-cpp) behind the route that OpenAI's clients speak.
// Arguments: the folder node-llama-cpp is installed in, the model's file. It prints JSON lines: first {"port"}, then one
// for each answer, {"prompt","completion","stopped"} in tokens, counted by the engine.
// A question with the word "count" is answered by the long script of the weights, any other by the short one.
import { createRequire } from "node:module";
import { createServer } from "node:http";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { pathToFileURL } from "node:url";

const [folder, modelPath] = process.argv.slice(2);
const { getLlama } = await import(pathToFileURL(createRequire(join(folder, "package.json")).resolve("node-llama-cpp")));
const llama = await getLlama({ gpu: false, build: "never", skipDownload: true, logLevel: "error" });
const model = await llama.loadModel({ modelPath });
const context = await model.createContext({ contextSize: 4096, sequences: 1 });
const sequence = context.getSequence();
const say = (line) => process.stdout.write(`${JSON.stringify(line)}\n`);

async function answer(body, response) {
  const text = body.messages.map((m) => (typeof m.content === "string" ? m.content : (m.content ?? []).map((p) => p.text ?? "").join(" "))).join("\n");
  const long = /\bcount\b/.test(text);
  // The tail of the conversation, so that it fits; then the token that starts a script.
  const prompt = [...model.tokenize(text).slice(-1000), ...model.tokenize(long ? "<|long|>" : "<|say|>", true)];
  await sequence.clearHistory();
  const send = (delta, rest = {}) =>
    response.write(`data: ${JSON.stringify({ id: "engine-1", object: "chat.completion.chunk", created: 1, model: body.model, choices: [{ index: 0, delta, finish_reason: null }], ...rest })}\n\n`);
  response.writeHead(200, { "content-type": "text/event-stream" });
  send({ role: "assistant", content: "" });
  let completion = 0;
  let stopped = false;
  response.on("close", () => (stopped = !response.writableFinished));
  for await (const token of sequence.evaluate(prompt, { temperature: 0.8 })) {
    if (stopped || model.isEogToken(token)) break;
    completion += 1;
    send({ content: model.detokenize([token]) });
    // The model is tiny; paced like a large one, so that there is a middle in which to stop it.
    if (long) await pause(20);
    if (stopped) break;
  }
  say({ prompt: prompt.length, completion, stopped });
  if (stopped) return;
  send({}, { choices: [{ index: 0, delta: {}, finish_reason: "stop" }] });
  if (body.stream_options?.include_usage) {
    send({}, { choices: [], usage: { prompt_tokens: prompt.length, completion_tokens: completion, total_tokens: prompt.length + completion } });
  }
  response.end("data: [DONE]\n\n");
}

const server = createServer(async (request, response) => {
  if (request.method === "GET" && request.url === "/v1/models") {
    response.writeHead(200, { "content-type": "application/json" });
    return response.end(JSON.stringify({ object: "list", data: [{ id: "scripted", object: "model", created: 1, owned_by: "us" }] }));
  }
  if (request.method !== "POST" || request.url !== "/v1/chat/completions") {
    response.writeHead(404, { "content-type": "application/json" });
    return response.end(JSON.stringify({ error: { message: "not found" } }));
  }
  let raw = "";
  for await (const part of request) raw += part;
  try {
    await answer(JSON.parse(raw), response);
  } catch (error) {
    say({ error: String(error) });
    response.destroy();
  }
});
server.listen(0, "127.0.0.1", () => say({ port: server.address().port }));
