"""JupyterLab as `make lab` starts it, and a real browser before it. A skip prints why; in CI there is none."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import pytest

HERE = Path(__file__).resolve().parent
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-dev-shm-usage",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    # A page that asks for another machine fails at once, and the request is seen.
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
]


def missing(what: str) -> NoReturn:
    """Skip with the reason printed; fail where CI runs, since there nobody reads a skip."""
    if os.environ.get("CI"):
        pytest.fail(f"{what}; in CI the browser test must run", pytrace=False)
    pytest.skip(what)


@dataclass(frozen=True)
class Lab:
    """A running JupyterLab: its address, its token, its working copy, and what its processes connected to."""

    url: str
    token: str
    copy: Path
    witness: Path

    def heard(self) -> list[str]:
        return self.witness.read_text(encoding="utf-8").splitlines()

    def end_kernels(self) -> None:
        """End every kernel: thirteen of them would fill a small machine."""
        for session in json.loads(self._ask("GET", "/api/sessions")):
            self._ask("DELETE", f"/api/sessions/{session['id']}")

    def _ask(self, method: str, path: str) -> bytes:
        request = urllib.request.Request(self.url + path, method=method, headers={"Authorization": f"token {self.token}"})
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.read()


@pytest.fixture(scope="session")
def lab(tmp_path_factory) -> Lab:
    folder = tmp_path_factory.mktemp("lab")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    running = Lab(f"http://127.0.0.1:{port}", secrets.token_hex(16), folder / "my-lab", folder / "witness")
    log = folder / "jupyterlab.log"
    with log.open("w") as lines:
        server = subprocess.Popen(
            [sys.executable, "-m", "labsupport.lesson.launch", "--copy", str(running.copy), "--no-browser",
             f"--ServerApp.port={port}", "--ServerApp.port_retries=0", f"--IdentityProvider.token={running.token}"],
            stdout=lines, stderr=subprocess.STDOUT,
            env=os.environ | {"PYTHONPATH": str(HERE / "witness"), "LAB_WITNESS": str(running.witness)},
        )
        try:
            _wait_for(f"{running.url}/api?token={running.token}", server, log)
            yield running
        finally:
            server.terminate()
            try:
                server.wait(15)
            except subprocess.TimeoutExpired:
                server.kill()


def _wait_for(url: str, server: subprocess.Popen, log: Path, seconds: int = 60) -> None:
    for _ in range(4 * seconds):
        try:
            with urllib.request.urlopen(url, timeout=1):
                return
        except OSError:
            if server.poll() is not None:
                break
            time.sleep(0.25)
    pytest.fail(f"JupyterLab did not answer within {seconds} s; its log:\n{log.read_text()}", pytrace=False)


@pytest.fixture(scope="session")
def browser():
    found = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, BROWSERS)), None)
    if not found:
        missing("no Chromium was found (Debian, Ubuntu: apt install chromium; or CHROMIUM=/path/to/it)")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=found, args=FLAGS)
        yield opened
        opened.close()
