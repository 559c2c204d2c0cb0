"""A pytest plugin that puts Tenet's store in place of LangGraph's own, before
the upstream test files are collected: pytest -p tenet_swap.

Each store that a test makes is a subject of its own on one server."""
import asyncio
import contextlib
import pathlib
import sys
import tempfile
import uuid

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "tests")]

from conftest import Server  # noqa: E402

from tenet_memory import Tenet  # noqa: E402
from tenet_memory.langgraph import TenetSaver, TenetStore  # noqa: E402

_folder = tempfile.TemporaryDirectory()
server = Server(pathlib.Path(_folder.name))
client = Tenet(server.url, server.app_key)


def scope():
    return client.user("swap-" + uuid.uuid4().hex)


class Swapped(TenetStore):
    """What the upstream tests call beside the contract."""

    def __init__(self, *args, index=None, ttl=None, **kwargs):
        super().__init__(scope(), ttl=ttl)
        self.index_config = index

    @classmethod
    @contextlib.contextmanager
    def from_conn_string(cls, conn, *, index=None, ttl=None, **kwargs):
        yield cls(index=index, ttl=ttl)

    def setup(self):
        pass


class AsyncSwapped(Swapped):
    @classmethod
    @contextlib.asynccontextmanager
    async def from_conn_string(cls, conn, *, index=None, ttl=None, **kwargs):
        yield cls(index=index, ttl=ttl)

    async def setup(self):
        pass

    async def sweep_ttl(self):
        return await self.asweep_ttl()


import langgraph.store.memory as memory  # noqa: E402

memory.InMemoryStore = Swapped
try:
    import langgraph.store.sqlite as sqlite
    import langgraph.store.sqlite.aio as sqlite_aio

    sqlite.SqliteStore = Swapped
    sqlite_aio.AsyncSqliteStore = AsyncSwapped
    sqlite.AsyncSqliteStore = AsyncSwapped
except ImportError:
    pass

# Anthropic's memory tool: after each command the documents are laid out as
# files where the tests look for them.
try:
    import anthropic.lib.tools._beta_builtin_memory_tool as memory_tool

    from tenet_memory.anthropic import TenetMemoryTool

    def lay_out(s, base):
        import shutil

        shutil.rmtree(base / "memories", ignore_errors=True)
        (base / "memories").mkdir(parents=True)
        for d in s.documents("memories/")["items"]:
            if not d["path"].endswith("/.keep"):
                to = base / d["path"]
                to.parent.mkdir(parents=True, exist_ok=True)
                to.write_bytes(d["text"].encode())

    class SwappedMemory(TenetMemoryTool):
        def __init__(self, base_path):
            super().__init__(scope())
            self.base_path = pathlib.Path(base_path)
            self.memory_root = self.base_path / "memories"

        def _run(self, command):
            try:
                return super()._run(command)
            finally:
                lay_out(self._scope, self.base_path)

        view = create = str_replace = insert = delete = rename = _run

    class AsyncSwappedMemory(SwappedMemory):
        async def _run(self, command):
            return await asyncio.to_thread(SwappedMemory._run, self, command)

        view = create = str_replace = insert = delete = rename = _run

    memory_tool.BetaLocalFilesystemMemoryTool = SwappedMemory
    memory_tool.BetaAsyncLocalFilesystemMemoryTool = AsyncSwappedMemory
except ImportError:
    pass


def pytest_unconfigure(config):
    client.close()
    server.stop()
    _folder.cleanup()
