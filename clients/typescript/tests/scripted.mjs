// A model endpoint on loopback that answers "ok" and keeps what it was sent.
import { createServer } from "node:http";

export async function scriptedModel(answer = () => "ok") {
  const requests = [];
  const server = createServer((req, res) => {
    let body = "";
    req.on("data", (d) => (body += d));
    req.on("end", () => {
      if (req.method !== "POST" || !req.url.split("?")[0].endsWith("/v1/messages")) return res.writeHead(404, { "content-type": "application/json" }).end("{}");
      const request = JSON.parse(body);
      requests.push(request);
      const text = answer(request);
      const usage = { input_tokens: 10, output_tokens: 5, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 };
      const message = { id: "msg_1", type: "message", role: "assistant", model: request.model, content: [], stop_reason: null, stop_sequence: null, usage };
      if (!request.stream) return res.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ ...message, content: [{ type: "text", text }], stop_reason: "end_turn" }));
      res.writeHead(200, { "content-type": "text/event-stream" });
      for (const e of [
        { type: "message_start", message },
        { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
        { type: "content_block_delta", index: 0, delta: { type: "text_delta", text } },
        { type: "content_block_stop", index: 0 },
        { type: "message_delta", delta: { stop_reason: "end_turn", stop_sequence: null }, usage: { output_tokens: 5 } },
        { type: "message_stop" },
      ]) res.write(`event: ${e.type}\ndata: ${JSON.stringify(e)}\n\n`);
      res.end();
    });
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  return { requests, url: `http://127.0.0.1:${server.address().port}`, close: () => server.close() };
}
