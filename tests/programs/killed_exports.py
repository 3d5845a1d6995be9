"""Exports that are killed, at each of their steps and at random, and what they leave.

``python tests/programs/killed_exports.py FOLDER`` prints what it saw as JSON:

- ``steps``: models of a few bytes, killed before each line that moves them and each call that
  changes a file;
- ``race``: two processes that export to one path, and are killed at random, while a third one
  reads.

Each export is a fork, which nothing of TensorFlow's ran before.
"""

from __future__ import annotations

import itertools
import json
import os
import random
import shutil
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from nbfn.sessions.export import place as place_module
from nbfn.sessions.export.place import Place, reading

FILES = (
    *("saved_model.pb", "fingerprint.pb", "variables/variables.index"),
    *("variables/variables.data-00000-of-00001", "assets/words.txt", "assets.extra/nbfn.json"),
)
MOVING = ("beside", "fill", "_exchange", "exchange")
CHANGING = ("os.mkdir", "os.rename", "os.remove", "os.rmdir", "fcntl.flock", "open")
KILLS = 40
MODELS = 20
SEED = 20


def export(path: Path, text: str) -> None:
    """Exports a model whose files all hold a text."""
    place = Place(path, overwrite=True)
    with place.beside() as folder:
        for name in FILES:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text)
        place.fill(folder)


def texts(path: Path) -> list[str]:
    """What the files of a model hold: one text if it is whole; nothing if there is none."""
    if not path.exists():
        return []
    return sorted({_text(path / name) for name in FILES})


def _text(file: Path) -> str:
    try:
        return file.read_text()
    except FileNotFoundError:
        return "-"


def forked(work: Callable[[], Any]) -> int:
    """Starts some work in a process of its own."""
    child = os.fork()
    if child:
        return child
    try:
        work()
        os._exit(0)
    except BaseException:
        sys.excepthook(*sys.exc_info())
    os._exit(1)


def kill_before(step: int) -> None:
    """Has this process killed before that step of an export."""
    steps = itertools.count()

    def reached() -> None:
        if next(steps) == step:
            os.kill(os.getpid(), signal.SIGKILL)

    def trace(frame: Any, event: str, _: Any) -> Any:
        code = frame.f_code
        if code.co_filename != place_module.__file__ or code.co_name not in MOVING:
            return None
        if event == "line":
            reached()
        return trace

    def audit(event: str, _: Any) -> None:
        if event in CHANGING:
            reached()

    sys.addaudithook(audit)
    sys.settrace(trace)


def steps(folder: Path) -> list[dict[str, Any]]:
    """Kills an export before each step, with and without an old model."""
    path, seen = folder / "model", []
    for has_old in (True, False):
        for step in itertools.count():
            shutil.rmtree(folder)
            folder.mkdir()
            if has_old:
                export(path, "old")

            def killed(step: int = step) -> None:
                kill_before(step)
                export(path, "new")

            status = os.waitpid(forked(killed), 0)[1]
            here = {"old": has_old, "step": step, "status": status, "left": texts(path)}
            export(path, "next")
            seen.append(here | {"next": texts(path), "names": os.listdir(folder)})
            if status != signal.SIGKILL:
                break
    return seen


def race(folder: Path) -> dict[str, Any]:
    """Two exports at a time, killed at random, and a reader that finds a whole model each time."""
    path, chance = folder / "model", random.Random(SEED)
    export(path, "first")

    def work() -> None:
        for number in itertools.count():
            export(path, f"{os.getpid()} {number}")

    seen: dict[str, Any] = {"mixed": [], "texts": set(), "kills": 0, "statuses": set()}
    at_work = [forked(work) for _ in range(2)]
    try:
        next_kill = time.monotonic()
        while seen["kills"] < KILLS or len(seen["texts"]) < MODELS:
            with reading(path):
                found = texts(path)
            seen["texts"] |= set(found)
            if len(found) != 1 or found == ["-"]:
                seen["mixed"].append(found)
            if time.monotonic() > next_kill:
                seen["statuses"].add(kill(at_work.pop(0)))
                at_work.append(forked(work))
                seen["kills"] += 1
                next_kill = time.monotonic() + chance.uniform(0.01, 0.06)
    finally:
        seen["statuses"] |= {kill(each) for each in at_work}
    export(path, "last")
    seen |= {"texts": len(seen["texts"]), "statuses": list(seen["statuses"])}
    return seen | {"names": os.listdir(folder), "last": texts(path)}


def kill(process: int) -> int:
    """Kills a process; its status, which is another one than SIGKILL's if it had failed before."""
    os.kill(process, signal.SIGKILL)
    return os.waitpid(process, 0)[1]


if __name__ == "__main__":
    os.fsync = lambda _: None  # who is killed loses nothing that is not on the disk yet
    seen = {}
    for look in (steps, race):
        folder = Path(sys.argv[1], look.__name__)
        folder.mkdir()
        seen[look.__name__] = look(folder)
    print(json.dumps(seen))
