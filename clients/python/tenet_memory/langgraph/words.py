"""Which words of a graph's state somebody said.

The user's are those that the caller handed to invoke: the input of a run, in
the checkpoint whose source is "input". A HumanMessage that a node adds later
(a summary, a retrieved text) is not the user's word. The model's are the text
of the AI messages that tasks wrote.
"""
import hashlib
from typing import Any, Iterable, List, Mapping, Sequence, Tuple


def text_of(content: Any) -> str:
    if isinstance(content, str):
        return content
    if isinstance(content, (list, tuple)):
        parts = (p if isinstance(p, str) else p.get("text", "") if isinstance(p, dict) and p.get("type") == "text" else "" for p in content)
        return "\n".join(p for p in parts if p)
    return ""


def role_and_text(m: Any) -> Tuple[str, str]:
    if isinstance(m, str):
        return "user", m
    if isinstance(m, tuple) and len(m) == 2:
        role, content = m
    elif isinstance(m, Mapping):
        role, content = m.get("role") or m.get("type") or "", m.get("content")
    else:
        role, content = getattr(m, "type", ""), getattr(m, "content", "")
    return {"human": "user", "ai": "assistant"}.get(str(role), str(role)), text_of(content)


def listed(v: Any) -> Iterable[Any]:
    return v if isinstance(v, list) else [v]


def said(values: Mapping[str, Any], checkpoint_id: str) -> List[dict]:
    given = values.get("__start__")
    given = given.get("messages") if isinstance(given, Mapping) else getattr(given, "messages", None)
    out = []
    for i, m in enumerate(listed(given) if given is not None else []):
        role, text = role_and_text(m)
        if role == "user" and text.strip():
            out.append({"role": "user", "text": text, "client_id": f"{checkpoint_id}/{i}"})
    return out


def answered(writes: Sequence[Tuple[str, Any]]) -> List[dict]:
    out = []
    for channel, value in writes:
        if channel != "messages":
            continue
        for m in listed(getattr(value, "value", value)):
            id, (role, text) = getattr(m, "id", None), role_and_text(m)
            if role == "assistant" and id and text.strip():  # the same id with other words is another message
                out.append({"role": "assistant", "text": text, "client_id": id + "/" + hashlib.sha256(text.encode()).hexdigest()[:16]})
    return out
