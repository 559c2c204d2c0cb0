"""Deep Agents over Tenet.

The stock StoreBackend and memory= work over TenetStore. Two things are better
done here. TenetMemory puts the context block before every model call, read
anew each time, so what was superseded or forgotten is gone on the next turn of
a live thread, and an agent whose memory is away is not run. GovernedBackend
keeps an agent's files behind the gate and shows the facts as a file that
cannot be written.
"""
from __future__ import annotations

from typing import Any, Callable, List, Optional, Sequence, Tuple, Union

from deepagents.backends import StoreBackend
from deepagents.backends.protocol import (
    DeleteResult,
    EditResult,
    FileDownloadResponse,
    FileUploadResponse,
    ReadResult,
    WriteResult,
)
from deepagents.backends.utils import create_file_data, slice_read_response
from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import HumanMessage, SystemMessage
from langgraph.config import get_config

from ._both import Both
from ._wire import Refused
from .client import Scope
from .langgraph.saver import session_id
from .langgraph.store import TenetStore
from .langgraph.words import text_of


class MissingMemory(LookupError):
    """What must be there by identity is not. The text names keys, never values."""


def thread() -> str:
    try:
        return session_id(str(get_config()["configurable"]["thread_id"]))
    except (RuntimeError, KeyError):
        raise MissingMemory("no thread_id in the config: whose turn it is, is not known") from None


class TenetMemory(AgentMiddleware):
    """create_deep_agent(middleware=[TenetMemory(scope, required=["allergy"])]).

    The scope may be a function of the config, as for TenetSaver. Nothing is
    kept in the graph's state. A failure to read raises, and so does
    a required key without a value: the model is not called without them.
    """

    def __init__(self, scope: Union[Scope, Callable[[Any], Scope]], *, required: Sequence[str] = (), tokens: int = 2000, recall: Optional[int] = None):
        super().__init__()
        self._both, self._required, self._tokens, self._recall = Both(scope), set(required), tokens, recall

    def wrap_model_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        session, query = thread(), asked(request.messages)
        window = self._both.at(get_config()).session(session).context(query, tokens=self._tokens, recall=self._recall)
        return handler(self._with(request, window))

    async def awrap_model_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        session, query = thread(), asked(request.messages)
        window = await self._both.aio(get_config()).session(session).context(query, tokens=self._tokens, recall=self._recall)
        return await handler(self._with(request, window))

    def _with(self, request: Any, window: Any) -> Any:
        missing = self._required - {f.get("key") for f in window["facts"] or []}
        if missing:
            raise MissingMemory("no fact under " + ", ".join(sorted(missing)))
        had = request.system_message
        blocks = list(had.content_blocks) if had else []
        blocks.append({"type": "text", "text": ("\n\n" if blocks else "") + window["system"]})
        return request.override(system_message=SystemMessage(content_blocks=blocks))


def asked(messages: Sequence[Any]) -> str:
    """The last words of the user, to recall by."""
    return next((text_of(m.content) for m in reversed(messages) if isinstance(m, HumanMessage)), "")[:4000]


class GovernedBackend(StoreBackend):
    """Files under a memory route, behind the gate.

        CompositeBackend(default=StateBackend(), routes={"/memories/": GovernedBackend(scope, required=True)})

    The file `facts` is what Tenet holds by identity, read-only: what a model
    writes there is proposed, judged after the session, and the write is denied.
    Other files are the agent's own documents; what the gate refuses is denied,
    too. With required=True, reading the facts of somebody who has none raises.
    A path is the same with or without the route before it.
    """

    def __init__(self, scope: Scope, *, facts: str = "/profile.md", route: str = "/memories/", required: bool = False):
        super().__init__(namespace=lambda rt: ("files",), store=TenetStore(scope, root="deepagents"))
        self._scope, self._facts, self._route, self._required = scope, facts, route.rstrip("/"), required

    def _own(self, path: str) -> str:
        return path.removeprefix(self._route) if path.startswith(self._route + "/") else path

    def _profile(self) -> str:
        facts = self._scope.facts()
        if self._required and not facts:
            raise MissingMemory("no facts are held for this subject")
        return "".join(f"- {f['key']}: {f['text']}\n" for f in facts)

    def _proposed(self, text: str) -> str:
        known = set(self._profile_or_none().splitlines())
        lines = [line.strip(" -*#\t") for line in text.splitlines() if line.strip() and line not in known]
        session = self._scope.session(thread())
        for line in filter(None, lines):
            session.propose(line, tier="note")
        return f"denied: facts are not written here; {len(lines)} lines were proposed and are judged after the session"

    def _profile_or_none(self) -> str:
        return "".join(f"- {f['key']}: {f['text']}\n" for f in self._scope.facts())

    def read(self, file_path: str, offset: int = 0, limit: int = 2000) -> ReadResult:
        if self._own(file_path) == self._facts:
            return slice_read_response(create_file_data(self._profile()), offset, limit)
        return super().read(self._own(file_path), offset, limit)

    def write(self, file_path: str, content: str) -> WriteResult:
        if self._own(file_path) == self._facts:
            return WriteResult(error=self._proposed(content))
        try:
            return super().write(self._own(file_path), content)
        except Refused as e:
            return WriteResult(error=f"denied: {e.code}")

    def edit(self, file_path: str, old_string: str, new_string: str, replace_all: bool = False) -> EditResult:
        if self._own(file_path) == self._facts:
            return EditResult(error=self._proposed(new_string))
        try:
            return super().edit(self._own(file_path), old_string, new_string, replace_all)
        except Refused as e:
            return EditResult(error=f"denied: {e.code}")

    def delete(self, file_path: str) -> DeleteResult:
        if self._own(file_path) == self._facts:
            return DeleteResult(error="denied: facts are not deleted here")
        return super().delete(self._own(file_path))

    def upload_files(self, files: List[Tuple[str, bytes]]) -> List[FileUploadResponse]:
        out = []
        for path, content in files:
            try:
                out += super().upload_files([(self._own(path), content)]) if self._own(path) != self._facts else [FileUploadResponse(path=path, error="permission_denied")]
            except Refused:
                out.append(FileUploadResponse(path=path, error="permission_denied"))
        return out

    def download_files(self, paths: List[str]) -> List[FileDownloadResponse]:
        out = []
        for path in paths:
            if self._own(path) == self._facts:
                out.append(FileDownloadResponse(path=path, content=self._profile().encode(), error=None))
            else:
                out += super().download_files([self._own(path)])
        return out

    # The async twins of the stock backend go past the methods above.

    async def aread(self, file_path: str, offset: int = 0, limit: int = 2000) -> ReadResult:
        return await off_loop(self.read, file_path, offset, limit)

    async def awrite(self, file_path: str, content: str) -> WriteResult:
        return await off_loop(self.write, file_path, content)

    async def aedit(self, file_path: str, old_string: str, new_string: str, replace_all: bool = False) -> EditResult:
        return await off_loop(self.edit, file_path, old_string, new_string, replace_all)

    async def adelete(self, file_path: str) -> DeleteResult:
        return await off_loop(self.delete, file_path)

    async def aupload_files(self, files: List[Tuple[str, bytes]]) -> List[FileUploadResponse]:
        return await off_loop(self.upload_files, files)

    async def adownload_files(self, paths: List[str]) -> List[FileDownloadResponse]:
        return await off_loop(self.download_files, paths)


async def off_loop(f: Callable[..., Any], *args: Any) -> Any:
    import asyncio

    return await asyncio.to_thread(f, *args)
