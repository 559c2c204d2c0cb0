"""A real server for the tests, on a database of its own."""
import os
import pathlib
import secrets
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
import uuid

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "clients/python"))


MASTER_KEY = secrets.token_hex(32)  # of the PostgreSQL database, which the servers of a run share


class Server:
    """bin/tenet serve. stop and start keep the database, as a restart would.

    With a PostgreSQL DSN it is a tenant of its own there.
    """

    def __init__(self, folder: pathlib.Path, dsn: str = ""):
        self.folder, self.process, self.dsn = folder, None, dsn
        self.tenant = "t" + uuid.uuid4().hex[:12] if dsn else "default"
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            self.port = s.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.start()
        beside = "tenet" if dsn else "t.db"
        self.app_key = (folder / f"{beside}.app-key").read_text().strip()
        self.admin_key = (folder / f"{beside}.admin-key").read_text().strip()

    def start(self):
        binary = os.environ.get("TENET_BIN", str(ROOT / "bin/tenet"))
        store = self.dsn or str(self.folder / "t.db")
        env = {"PATH": os.environ["PATH"], "HOME": str(self.folder)}
        if self.dsn:
            env["TENET_MASTER_KEY"] = MASTER_KEY
        self.log = open(self.folder / "log", "ab")
        self.process = subprocess.Popen(
            [binary, "serve", "--store", store, "--tenant", self.tenant, "--listen", f"127.0.0.1:{self.port}", "--quiet"],
            stdout=self.log, stderr=self.log, cwd=self.folder, env=env,
        )
        for _ in range(200):
            if self.process.poll() is not None:
                raise RuntimeError((self.folder / "log").read_text())
            try:
                urllib.request.urlopen(self.url + "/healthz", timeout=1).read()
                return
            except OSError:
                time.sleep(0.05)
        raise RuntimeError("the server does not answer")

    def stop(self):
        self.process.terminate()
        self.process.wait(30)
        self.log.close()


@pytest.fixture(scope="session")
def server():
    with tempfile.TemporaryDirectory() as d:
        s = Server(pathlib.Path(d))
        yield s
        s.stop()


@pytest.fixture(scope="session")
def client(server):
    from tenet_memory import Tenet

    with Tenet(server.url, server.app_key) as c:
        yield c


@pytest.fixture
def scope(client):
    """A subject that nobody has used."""
    return client.user("user-" + uuid.uuid4().hex[:12])


@pytest.fixture
def own_server(tmp_path):
    s = Server(tmp_path)
    yield s
    if s.process.poll() is None:
        s.stop()


@pytest.fixture(params=["sqlite", "postgres"])
def either_server(request, tmp_path):
    """A server on each backend. scripts/clients.sh starts a PostgreSQL where one can be had."""
    dsn = os.environ.get("TENET_TEST_POSTGRES", "") if request.param == "postgres" else ""
    if request.param == "postgres" and not dsn:
        pytest.skip("no PostgreSQL: TENET_TEST_POSTGRES names none")
    s = Server(tmp_path, dsn)
    yield s
    if s.process.poll() is None:
        s.stop()
