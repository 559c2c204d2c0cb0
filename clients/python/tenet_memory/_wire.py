"""What both clients share: requests as values, and answers as values or errors."""
import base64
import json
import os
import uuid
from typing import Any, Mapping, NamedTuple, Optional
from urllib.parse import quote

Params = Optional[Mapping[str, Any]]


class Request(NamedTuple):
    """One call of the API, made by neither client yet."""

    method: str
    path: str
    body: Any = None
    params: Params = None
    headers: Optional[Mapping[str, str]] = None


class TenetError(Exception):
    """An answer that is not a success. It names fields and never holds memory text."""

    def __init__(self, status: int, code: str, detail: str, verdict: Optional[dict] = None):
        super().__init__(f"{status} {code or 'error'}: {detail}")
        self.status, self.code, self.detail, self.verdict = status, code, detail, verdict


class NotFound(TenetError):
    """404: not in this scope."""


class Conflict(TenetError):
    """409 or 412: the state moved."""


class Refused(TenetError):
    """422: the gate refused; verdict says why."""


class Unavailable(TenetError):
    """The server is away or a store behind it is."""


_BY_STATUS = {404: NotFound, 409: Conflict, 412: Conflict, 422: Refused, 502: Unavailable, 503: Unavailable, 504: Unavailable}


def esc(part: str) -> str:
    return quote(part, safe="")


def once() -> dict:
    """A fresh Idempotency-Key. A retry by the transport carries the same one."""
    return {"Idempotency-Key": uuid.uuid4().hex}


def without_none(d: Mapping[str, Any]) -> dict:
    return {k: v for k, v in d.items() if v is not None}


def answer(response: Any) -> Any:
    """The body of a success (None for 204 and 304), or the error."""
    status = response.status_code
    if status in (204, 304):
        return None
    if 200 <= status < 300:
        return response.json()
    code, detail, verdict = "", response.reason_phrase, None
    try:
        problem = response.json()
        code, detail, verdict = problem.get("code", ""), problem.get("detail", detail), problem.get("verdict")
        if verdict and not code:
            code = ",".join(verdict.get("codes") or [])
    except ValueError:
        pass
    raise _BY_STATUS.get(status, TenetError)(status, code, detail, verdict)


def settings(url: Optional[str], key: Optional[str]) -> tuple:
    url = (url or os.environ.get("TENET_SERVER") or "http://127.0.0.1:7766").rstrip("/")
    key = key or os.environ.get("TENET_API_KEY", "")
    if not key:
        raise ValueError("no API key: give key= or set TENET_API_KEY")
    return url, {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}


def encode(value: Any) -> str:
    """A JSON value as the data of a thread's version."""
    return base64.b64encode(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()).decode()


def decode(data: str) -> Any:
    return json.loads(base64.b64decode(data))
