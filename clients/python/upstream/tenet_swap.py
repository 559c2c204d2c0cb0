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


def pytest_unconfigure(config):
    client.close()
    server.stop()
    _folder.cleanup()
