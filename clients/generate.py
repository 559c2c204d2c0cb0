#!/usr/bin/env python3
"""Writes what the clients need not say twice. Standard library only.

    clients/generate.py openapi.json [--into FOLDER]

From the server's OpenAPI document: the types of both clients. From the
Python client's sync surface: its async twin.
"""
import argparse
import json
import pathlib
import re

HERE = pathlib.Path(__file__).parent
MADE = "Made by clients/generate.py from the server's OpenAPI document; do not edit."


def refname(schema):
    return schema["$ref"].rsplit("/", 1)[1]


def python_type(s):
    if "$ref" in s:
        return f'"{refname(s)}"'
    if "enum" in s and all(isinstance(v, str) for v in s["enum"]):
        return "Literal[" + ", ".join(json.dumps(v) for v in s["enum"]) + "]"
    kind = s.get("type")
    if isinstance(kind, list):
        rest = [k for k in kind if k != "null"]
        inner = python_type({**s, "type": rest[0]}) if rest else "Any"
        return f"Optional[{inner}]" if "null" in kind else inner
    if kind == "array":
        return f"List[{python_type(s.get('items', {}))}]"
    return {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "object": "Dict[str, Any]"}.get(kind, "Any")


def typescript_type(s):
    if "$ref" in s:
        return refname(s)
    if "enum" in s and all(isinstance(v, str) for v in s["enum"]):
        return " | ".join(json.dumps(v) for v in s["enum"])
    kind = s.get("type")
    if isinstance(kind, list):
        rest = [k for k in kind if k != "null"]
        inner = typescript_type({**s, "type": rest[0]}) if rest else "unknown"
        return f"{inner} | null" if "null" in kind else inner
    if kind == "array":
        item = typescript_type(s.get("items", {}))
        return f"({item})[]" if "|" in item else f"{item}[]"
    return {"string": "string", "integer": "number", "number": "number", "boolean": "boolean", "object": "{ [key: string]: unknown }"}.get(kind, "unknown")


def python_types(schemas):
    out = [f'"""{MADE}"""', "from typing import Any, Dict, List, Literal, Optional, TypedDict", "", ""]
    for name, s in sorted(schemas.items()):
        if "properties" not in s:
            out += [f"{name} = {python_type(s)}", "", ""]
            continue
        required = set(s.get("required", []))
        fields = {k: python_type(v) for k, v in s["properties"].items() if k != "$schema"}
        must = {k: v for k, v in fields.items() if k in required}
        may = {k: v for k, v in fields.items() if k not in required}
        base = "TypedDict"
        if must and may:
            out.append(f'_{name} = TypedDict("_{name}", {{{", ".join(f"{json.dumps(k)}: {v}" for k, v in must.items())}}})')
            base, must = f"_{name}", {}
            out += ["", ""]
        total = ", total=False" if may else ""
        rows = {**must, **may}
        if any(not k.isidentifier() or k in ("from", "import", "class") for k in rows):
            body = ", ".join(f"{json.dumps(k)}: {v}" for k, v in rows.items())
            out += [f'{name} = TypedDict("{name}", {{{body}}}{total})', "", ""]
            continue
        out.append(f"class {name}({base}{total}):")
        out += [f"    {k}: {v}" for k, v in rows.items()] or ["    pass"]
        out += ["", ""]
    return "\n".join(out).rstrip() + "\n"


def typescript_types(schemas):
    out = [f"// {MADE}", ""]
    for name, s in sorted(schemas.items()):
        if "properties" not in s:
            out += [f"export type {name} = {typescript_type(s)};", ""]
            continue
        required = set(s.get("required", []))
        out.append(f"export interface {name} {{")
        for k, v in s["properties"].items():
            if k == "$schema":
                continue
            if v.get("description"):
                out.append(f"  /** {v['description'].replace('*/', '* /')} */")
            out.append(f"  {k}{'' if k in required else '?'}: {typescript_type(v)};")
        out += ["}", ""]
    return "\n".join(out).rstrip() + "\n"


def async_twin(source):
    """The sync surface with every call awaited."""
    rules = [
        (r"^    def (?!_|__|user\b|project\b|tenant\b|session\b)", "    async def "),
        (r"^    def __enter__\(self\)", "    async def __aenter__(self)"),
        (r"^    def __exit__", "    async def __aexit__"),
        (r"^    def _send\(", "    async def _send("),
        (r"\bself\._send\(", "await self._send("),
        (r"\bself\._client\.send\(", "await self._client.send("),
        (r"\bself\.send\(", "await self.send("),
        (r"\bself\.http\.request\(", "await self.http.request("),
        (r"\bself\.http\.close\(\)", "await self.http.aclose()"),
        (r"\bself\.close\(\)", "await self.close()"),
        (r"\bhttpx\.Client\b", "httpx.AsyncClient"),
        (r"\b(Tenet|Scope|Session)\b(?=[(:\]\",]| |$)", r"Async\1"),
    ]
    lines = []
    for line in source.splitlines():
        if line.startswith('"""') or line.startswith("from .types"):
            lines.append(line)
            continue
        code, hash_, comment = line.partition("  # ")
        for pattern, to in rules:
            code = re.sub(pattern, to, code)
        lines.append(code + hash_ + comment)
    lines[0] = '"""The async client: made from client.py by clients/generate.py; do not edit."""'
    text = "\n".join(lines) + "\n"
    return text.replace("types.AsyncSession", "types.Session").replace("types.AsyncScope", "types.Scope")


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("document")
    p.add_argument("--into", type=pathlib.Path, default=HERE)
    args = p.parse_args()
    schemas = json.loads(pathlib.Path(args.document).read_text())["components"]["schemas"]
    # mem0's shapes are for its own clients.
    schemas = {name: s for name, s in schemas.items() if not name.startswith("Mem0")}
    sync = (HERE / "python/tenet_memory/client.py").read_text()
    for path, text in (
        ("python/tenet_memory/types.py", python_types(schemas)),
        ("python/tenet_memory/aio.py", async_twin(sync)),
        ("typescript/src/types.ts", typescript_types(schemas)),
    ):
        to = args.into / path
        to.parent.mkdir(parents=True, exist_ok=True)
        to.write_text(text)


if __name__ == "__main__":
    main()
