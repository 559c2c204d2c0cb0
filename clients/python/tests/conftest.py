"""A real server for the tests, on a database of its own."""
import os
import pathlib
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


class Server:
    """bin/tenet serve. stop and start keep the database, as a restart would."""

    def __init__(self, folder: pathlib.Path):
        self.folder, self.process = folder, None
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            self.port = s.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.start()
        self.app_key = (folder / "t.db.app-key").read_text().strip()
        self.admin_key = (folder / "t.db.admin-key").read_text().strip()

    def start(self):
        binary = os.environ.get("TENET_BIN", str(ROOT / "bin/tenet"))
        store = os.environ.get("TENET_TEST_STORE") or str(self.folder / "t.db")
        self.log = open(self.folder / "log", "ab")
        self.process = subprocess.Popen(
            [binary, "serve", "--store", store, "--listen", f"127.0.0.1:{self.port}", "--quiet"],
            stdout=self.log, stderr=self.log, cwd=self.folder, env={"PATH": os.environ["PATH"], "HOME": str(self.folder)},
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
