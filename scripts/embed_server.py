"""A local embedding server for tests and measurements: POST /v1/embeddings.

It serves small models that packages carry, alone or joined: the vectors of the
models named with + are normalised, weighted and put one after the other, so
that the dot product of two joined vectors is the weighted sum of the models'
own. A text that begins with "query: " or "passage: " is embedded as that, each
model with the form that it was trained on.

    embed_server.py FOLDER [--port N] [--model e5-small-v2+bge-small-en-v15:1]

FOLDER holds what scripts/embed-server.sh brings. Not a part of Tenet: nothing
in the build or at run time needs it.
"""

import argparse
import json
import os
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock

import numpy as np
from tokenizers import Tokenizer

MAX_BODY = 8 << 20
MAX_INPUTS = 2048


class Onnx:
    """A BERT-like encoder as ONNX."""

    def __init__(self, folder, query="", passage="", pooling="mean", threads=2):
        import onnxruntime as ort

        o = ort.SessionOptions()
        o.intra_op_num_threads = threads
        self.session = ort.InferenceSession(os.path.join(folder, "model.onnx"), o, providers=["CPUExecutionProvider"])
        self.inputs = {i.name for i in self.session.get_inputs()}
        self.tok = tokenizer(folder, 512)
        self.prefix = {True: query, False: passage}
        self.pooling = pooling

    def forward(self, ids, mask):
        feed = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        out = self.session.run(None, {k: v for k, v in feed.items() if k in self.inputs})[0]
        return out[:, 0] if self.pooling == "cls" else mean(out, mask)


class MPNet:
    """all-mpnet-base-v2 from its safetensors, in numpy: a BERT with one bias by
    relative position for all layers."""

    def __init__(self, folder):
        self.w = safetensors(os.path.join(folder, "model.safetensors"))
        self.tok = tokenizer(folder, 384)
        self.prefix = {True: "", False: ""}
        self.layers, self.heads, self.eps = 12, 12, 1e-5

    def forward(self, ids, mask):
        w, h = self.w, self.heads
        n, length = ids.shape
        x = w["embeddings.word_embeddings.weight"][ids] + w["embeddings.position_embeddings.weight"][2 : 2 + length]
        x = self.norm(x, "embeddings.LayerNorm")
        bias = w["encoder.relative_attention_bias.weight"][buckets(length)].transpose(2, 0, 1)[None]
        bias = bias + np.where(mask[:, None, None, :] > 0, 0, -1e9).astype(np.float32)

        def split(y):
            return y.reshape(n, length, h, -1).transpose(0, 2, 1, 3)

        for i in range(self.layers):
            at = f"encoder.layer.{i}."
            q, k, v = (split(self.dense(x, at + "attention.attn." + name)) for name in "qkv")
            p = q @ k.transpose(0, 1, 3, 2) / np.float32(np.sqrt(q.shape[-1])) + bias
            p = np.exp(p - p.max(-1, keepdims=True))
            p /= p.sum(-1, keepdims=True)
            a = (p @ v).transpose(0, 2, 1, 3).reshape(n, length, -1)
            x = self.norm(self.dense(a, at + "attention.attn.o") + x, at + "attention.LayerNorm")
            y = gelu(self.dense(x, at + "intermediate.dense"))
            x = self.norm(self.dense(y, at + "output.dense") + x, at + "output.LayerNorm")
        return mean(x, mask)

    def dense(self, x, name):
        w = self.w[name + ".weight"]
        return (x.reshape(-1, x.shape[-1]) @ w.T + self.w[name + ".bias"]).reshape(*x.shape[:-1], w.shape[0])

    def norm(self, x, name):
        x = x - x.mean(-1, keepdims=True)
        x /= np.sqrt((x * x).mean(-1, keepdims=True) + np.float32(self.eps))
        return x * self.w[name + ".weight"] + self.w[name + ".bias"]


class Gemma:
    """embeddinggemma-300m from its safetensors, in numpy: a Gemma 3 that looks
    both ways, the mean of its tokens, and two linear layers. Texts longer than
    512 tokens are cut, so that its sliding window is never felt."""

    def __init__(self, folder):
        self.w = safetensors(os.path.join(folder, "model.safetensors"))
        self.head = [safetensors(os.path.join(folder, f"{n}_Dense", "model.safetensors"))["linear.weight"] for n in (2, 3)]
        self.tok = tokenizer(folder, 512)
        self.prefix = {True: "task: search result | query: ", False: "title: none | text: "}
        self.layers, self.heads, self.size = 24, 3, 256

    def forward(self, ids, mask):
        n, length = ids.shape
        x = self.w["embed_tokens.weight"][ids] * np.float32(np.sqrt(768))
        bias = np.where(mask[:, None, None, :] > 0, 0, -1e9).astype(np.float32)
        turns = {base: self.turn(length, base) for base in (1e4, 1e6)}
        for i in range(self.layers):
            at = f"layers.{i}."
            near = turns[1e4 if (i + 1) % 6 else 1e6]
            y = self.norm(x, at + "input_layernorm")
            q, k, v = (self.dense(y, f"{at}self_attn.{c}_proj").reshape(n, length, -1, self.size).transpose(0, 2, 1, 3) for c in "qkv")
            q, k = rotate(self.norm(q, at + "self_attn.q_norm"), near), rotate(self.norm(k, at + "self_attn.k_norm"), near)
            p = q @ k.transpose(0, 1, 3, 2) / np.float32(np.sqrt(self.size)) + bias
            p = np.exp(p - p.max(-1, keepdims=True))
            p /= p.sum(-1, keepdims=True)
            y = self.dense((p @ v).transpose(0, 2, 1, 3).reshape(n, length, -1), at + "self_attn.o_proj")
            x = x + self.norm(y, at + "post_attention_layernorm")
            y = self.norm(x, at + "pre_feedforward_layernorm")
            g = self.dense(y, at + "mlp.gate_proj")
            g *= np.float32(0.5) * (1 + np.tanh(np.float32(0.7978845608) * (g + np.float32(0.044715) * g * g * g)))
            y = self.dense(g * self.dense(y, at + "mlp.up_proj"), at + "mlp.down_proj")
            x = x + self.norm(y, at + "post_feedforward_layernorm")
        x = mean(self.norm(x, "norm"), mask)
        for h in self.head:
            x = x @ h.T
        return x

    def turn(self, length, base):
        angle = np.arange(length)[:, None] / base ** (np.arange(0, self.size, 2) / self.size)
        return np.cos(angle).astype(np.float32), np.sin(angle).astype(np.float32)

    def dense(self, x, name):
        w = self.w[name + ".weight"]
        return (x.reshape(-1, x.shape[-1]) @ w.T).reshape(*x.shape[:-1], w.shape[0])

    def norm(self, x, name):
        return x / np.sqrt((x * x).mean(-1, keepdims=True) + np.float32(1e-6)) * (1 + self.w[name + ".weight"])


def rotate(x, turn):
    """Rotary positions: the first half of the numbers with the second."""
    cos, sin = turn
    a, b = np.split(x, 2, axis=-1)
    return np.concatenate([a * cos - b * sin, b * cos + a * sin], axis=-1)


def gelu(x):
    """x/2 (1 + erf(x/sqrt 2)), erf by Abramowitz and Stegun 7.1.26 (1.5e-7)."""
    z = np.abs(x) * np.float32(0.70710678)
    t = 1 / (1 + np.float32(0.3275911) * z)
    p = np.float32(1.061405429) * t
    for c in (-1.453152027, 1.421413741, -0.284496736, 0.254829592):
        p = (p + np.float32(c)) * t
    erf = 1 - p * np.exp(-z * z)
    return np.float32(0.5) * x * (1 + np.sign(x) * erf)


def buckets(length):
    """The bucket of each pair's distance: exact to 7, then logarithmic to 128."""
    away = np.arange(length)[:, None] - np.arange(length)[None, :]
    far = np.abs(away)
    large = 8 + (np.log(np.maximum(far, 1) / 8) / np.log(128 / 8) * 8).astype(np.int64)
    return np.where(away < 0, 16, 0) + np.where(far < 8, far, np.minimum(large, 15))


def safetensors(path):
    with open(path, "rb") as f:
        size = int.from_bytes(f.read(8), "little")
        head = json.loads(f.read(size))
    data = np.memmap(path, np.uint8, "r", 8 + size)
    out = {}
    for name, t in head.items():
        if name != "__metadata__" and t["dtype"] == "F32":
            a, b = t["data_offsets"]
            out[name] = data[a:b].view(np.float32).reshape(t["shape"])
    return out


def tokenizer(folder, limit):
    t = Tokenizer.from_file(os.path.join(folder, "tokenizer.json"))
    t.enable_truncation(limit)
    t.no_padding()
    return t


def mean(x, mask):
    m = mask[:, :, None].astype(np.float32)
    return (x * m).sum(1) / m.sum(1)


class Joined:
    """Models side by side, each with its weight."""

    def __init__(self, spec, folder):
        self.parts, self.lock = [], Lock()
        for part in spec.split("+"):
            name, _, weight = part.partition(":")
            self.parts.append((load(name, folder), np.float32(np.sqrt(float(weight or 1)))))

    def embed(self, texts):
        with self.lock:
            v = np.concatenate([w * encode(m, texts) for m, w in self.parts], axis=1)
        return v / np.linalg.norm(v, axis=1, keepdims=True)


def load(name, folder):
    at = os.path.join(folder, name)
    if name == "e5-small-v2":
        return Onnx(at, query="query: ", passage="passage: ")
    if name == "bge-small-en-v15":
        return Onnx(at, query="Represent this sentence for searching relevant passages: ", pooling="cls")
    if name == "all-minilm-l6-v2":
        return Onnx(at)
    if name == "all-mpnet-base-v2":
        return MPNet(at)
    if name == "embeddinggemma-300m":
        return Gemma(at)
    sys.exit(f"embed_server: no model {name}")


def encode(m, texts):
    """Vectors of length 1. Texts of about one length share a batch."""
    bare = []
    for t in texts:
        query = t.startswith("query: ")
        bare.append(m.prefix[query] + t.removeprefix("query: " if query else "passage: "))
    tokens = [e.ids for e in m.tok.encode_batch(bare)]
    order = sorted(range(len(tokens)), key=lambda i: len(tokens[i]))
    out = [None] * len(texts)
    for start in range(0, len(order), 32):
        batch = order[start : start + 32]
        length = max(len(tokens[i]) for i in batch)
        ids = np.zeros((len(batch), length), np.int64)
        mask = np.zeros((len(batch), length), np.int64)
        for row, i in enumerate(batch):
            ids[row, : len(tokens[i])] = tokens[i]
            mask[row, : len(tokens[i])] = 1
        v = m.forward(ids, mask)
        v = v / np.linalg.norm(v, axis=1, keepdims=True)
        for row, i in enumerate(batch):
            out[i] = v[row]
    return np.stack(out)


def handler(name, model):
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_):  # texts and their sizes are nobody's business
            pass

        def answer(self, status, body):
            b = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(b)))
            self.end_headers()
            self.wfile.write(b)

        def refuse(self, status, why):
            self.close_connection = True
            self.answer(status, {"error": {"message": why, "type": "invalid_request_error", "code": None, "param": None}})

        def do_GET(self):
            if self.path == "/v1/models":
                self.answer(200, {"object": "list", "data": [{"id": name, "object": "model", "owned_by": "local"}]})
            else:
                self.refuse(404, "no such path")

        def do_POST(self):
            size = int(self.headers.get("Content-Length") or 0)
            if self.path != "/v1/embeddings" or not 0 < size <= MAX_BODY:
                return self.refuse(404 if size else 400, "POST /v1/embeddings with a body of up to 8 MiB")
            try:
                req = json.loads(self.rfile.read(size))
                texts = [req["input"]] if isinstance(req["input"], str) else req["input"]
                ok = req["model"] == name and 0 < len(texts) <= MAX_INPUTS and all(isinstance(t, str) and t for t in texts)
            except (ValueError, KeyError, TypeError):
                ok = False
            if not ok:
                return self.refuse(400, "want the model served, and 1 to 2048 texts as input")
            data = [{"object": "embedding", "index": i, "embedding": v.tolist()} for i, v in enumerate(model.embed(texts))]
            tokens = sum(len(t) for t in texts) // 4
            self.answer(200, {"object": "list", "model": name, "data": data, "usage": {"prompt_tokens": tokens, "total_tokens": tokens}})

    return Handler


def main():
    p = argparse.ArgumentParser()
    p.add_argument("folder")
    p.add_argument("--port", type=int, default=7790, help="0: any; the address is printed")
    p.add_argument("--model", default="e5-small-v2+bge-small-en-v15+all-mpnet-base-v2")
    a = p.parse_args()
    server = ThreadingHTTPServer(("127.0.0.1", a.port), handler(a.model, Joined(a.model, a.folder)))
    print(f"http://127.0.0.1:{server.server_address[1]}/v1 {a.model}", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
