"""`nbfn lab`: a real JupyterLab."""

from __future__ import annotations

import json
import signal
import socket
import time
import urllib.request
from pathlib import Path

from tests.command.conftest import run, start
from tests.harness.notebooks import write


def answer(url: str) -> str:
    """What a server that is starting answers."""
    end = time.monotonic() + 120
    while True:
        try:
            with urllib.request.urlopen(url, timeout=10) as reply:
                return str(reply.read().decode())
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.2)


def test_a_new_notebook_that_loads_nbfn_is_opened_and_arguments_are_passed_on(
    tmp_path: Path,
) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    write(tmp_path / "Untitled.ipynb", "mine = 1")
    mine = (tmp_path / "Untitled.ipynb").read_bytes()
    options = ("--no-browser", "--allow-root", f"--port={port}", "--ServerApp.port_retries=0")
    token = "--IdentityProvider.token=secret"
    process = start(tmp_path, "lab", *options, token)
    try:
        url = f"http://127.0.0.1:{port}"
        contents = json.loads(answer(f"{url}/api/contents/Untitled1.ipynb?token=secret"))
        first = contents["content"]["cells"][0]
        assert first["source"] == "%load_ext nbfn"
        page = answer(f"{url}/lab/tree/Untitled1.ipynb?token=secret")
        assert "nbfn-labextension" in page
    finally:
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=60)
    assert f"http://127.0.0.1:{port}/lab/tree/Untitled1.ipynb" in said
    assert (tmp_path / "Untitled.ipynb").read_bytes() == mine


def test_a_notebook_that_is_not_there_is_refused_in_one_line(tmp_path: Path) -> None:
    ended = run(tmp_path, "lab", "none.ipynb")
    assert ended.code == 2
    assert ended.err == (
        "error: there is no notebook `none.ipynb`; `nbfn lab` alone makes a new one\n"
    )


def test_what_is_not_installed_is_reported(tmp_path: Path) -> None:
    # Packages that cannot be found any more, as after an uninstallation.
    (tmp_path / "sitecustomize.py").write_text(
        "import importlib.util as u\nfind, gone = u.find_spec, ('jupyterlab', 'nbclient')\n"
        "u.find_spec = lambda name, *rest: None if name in gone else find(name, *rest)\n"
    )
    ended = run(tmp_path, "run", "any.ipynb", path=str(tmp_path))
    assert ended.code == 2
    assert ended.err == (
        "error: `nbfn run` needs nbclient; install it with: python -m pip install 'nbfn[run]'\n"
    )
    ended = run(tmp_path, "lab", path=str(tmp_path))
    assert ended.code == 2
    assert ended.err.startswith("error: JupyterLab is not installed here; install it with: ")
    assert list(tmp_path.glob("*.ipynb")) == []
