"""A model endpoint for tests and examples: Anthropic's and OpenAI's wire shapes on loopback, answers from a script.

    with ScriptedModel(["Noted.", tool("search", {"q": "x"}), "Done."]) as model:
        ...  # ANTHROPIC_BASE_URL=model.url
        model.requests  # every request body that reached it

The script is a list of answers, one a request, or a function of the request.
After its end the answer is "ok".
"""
import json
import threading
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


def tool(name, input):
    return {"type": "tool_use", "id": "toolu_" + uuid.uuid4().hex[:12], "name": name, "input": input}


class ScriptedModel:
    def __init__(self, script=()):
        self.requests, self._script, self._lock = [], script, threading.Lock()
        self._left = None if callable(script) else list(script)

    def answer(self, request):
        with self._lock:
            self.requests.append(request)
            if self._left is None:
                return self._script(request)
            return self._left.pop(0) if self._left else "ok"

    def text_of(self, n=-1):
        """All that request n showed the model, as one text."""
        return json.dumps(self.requests[n], ensure_ascii=False)

    def __enter__(self):
        model = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *args):
                pass

            def do_POST(self):
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                path = self.path.partition("?")[0]
                if path.endswith("/messages"):
                    reply(self, json.loads(body), anthropic(model.answer, json.loads(body)))
                elif path.endswith("/chat/completions"):
                    send(self, 200, json.dumps(chat(model.answer(json.loads(body)))).encode())
                elif path.endswith("/responses"):
                    send(self, 200, json.dumps(response(model.answer(json.loads(body)))).encode())
                else:
                    send(self, 404, b"{}")

            def do_GET(self):
                send(self, 404, b"{}")

            do_HEAD = do_GET

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *exc):
        self._server.shutdown()
        self._server.server_close()


def send(handler, status, data, kind="application/json"):
    handler.send_response(status)
    handler.send_header("Content-Type", kind)
    handler.send_header("Content-Length", str(len(data)))
    handler.end_headers()
    handler.wfile.write(data)


USAGE = {"input_tokens": 10, "output_tokens": 5, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}


def anthropic(answer, request):
    block = answer(request)
    block = {"type": "text", "text": block} if isinstance(block, str) else block
    return {
        "id": "msg_" + uuid.uuid4().hex[:12], "type": "message", "role": "assistant", "model": request.get("model", "scripted"), "content": [block],
        "stop_reason": "tool_use" if block["type"] == "tool_use" else "end_turn", "stop_sequence": None, "usage": USAGE,
    }


def reply(handler, request, message):
    if not request.get("stream"):
        return send(handler, 200, json.dumps(message).encode())
    block = message["content"][0]
    if block["type"] == "text":
        empty, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": block["text"]}
    else:
        empty, delta = {**block, "input": {}}, {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
    events = [
        {"type": "message_start", "message": {**message, "content": [], "stop_reason": None}},
        {"type": "content_block_start", "index": 0, "content_block": empty},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": message["stop_reason"], "stop_sequence": None}, "usage": {"output_tokens": 5}},
        {"type": "message_stop"},
    ]
    data = "".join(f"event: {e['type']}\ndata: {json.dumps(e)}\n\n" for e in events)
    send(handler, 200, data.encode(), "text/event-stream")


def chat(block):
    """OpenAI's chat completions."""
    message = {"role": "assistant", "content": block} if isinstance(block, str) else {
        "role": "assistant", "content": None,
        "tool_calls": [{"id": block["id"], "type": "function", "function": {"name": block["name"], "arguments": json.dumps(block["input"])}}],
    }
    return {
        "id": "chatcmpl-1", "object": "chat.completion", "created": 0, "model": "scripted",
        "choices": [{"index": 0, "finish_reason": "stop" if isinstance(block, str) else "tool_calls", "message": message}],
        "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15},
    }


def response(block):
    """OpenAI's responses."""
    text = block if isinstance(block, str) else json.dumps(block)
    return {
        "id": "resp_" + uuid.uuid4().hex[:12], "object": "response", "created_at": 0, "status": "completed", "model": "scripted", "error": None,
        "incomplete_details": None, "instructions": None, "metadata": {}, "parallel_tool_calls": True, "temperature": 1.0, "tool_choice": "auto", "tools": [], "top_p": 1.0,
        "output": [{"id": "msg_" + uuid.uuid4().hex[:12], "type": "message", "role": "assistant", "status": "completed", "content": [{"type": "output_text", "text": text, "annotations": []}]}],
        "usage": {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15, "input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}},
    }
