"""Writes the generated parts of the clients from the server in bin/: make generate-clients."""
import pathlib
import subprocess
import sys
import tempfile
import urllib.request

from conftest import ROOT, Server

with tempfile.TemporaryDirectory() as d:
    server = Server(pathlib.Path(d))
    try:
        document = pathlib.Path(d) / "openapi.json"
        document.write_bytes(urllib.request.urlopen(server.url + "/openapi.json").read())
        subprocess.run([sys.executable, ROOT / "clients/generate.py", document], check=True)
    finally:
        server.stop()
