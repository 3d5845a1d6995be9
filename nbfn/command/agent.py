"""What the command does in the notebook's kernel, between cells.

The command evaluates the functions of this module as user expressions of silent requests, so that
they are no cells: they move no execution count and leave no name.
"""

from __future__ import annotations

import os
import sys
import threading
import weakref
from collections.abc import Iterable
from dataclasses import asdict
from types import SimpleNamespace
from typing import Any

from IPython.core.getipython import get_ipython

import nbfn
from nbfn import protocol
from nbfn._version import __version__
from nbfn.notebook.extension import load
from nbfn.sessions.feed import Feed, feed
from nbfn.site import Site
from nbfn.underway.enlisted import on_enlisted


class Answer:
    """An answer as JSON, which a kernel sends as the MIME bundle of a user expression."""

    def __init__(self, data: dict[str, Any]) -> None:
        self._data = data

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        return {"application/json": self._data, "text/plain": ""}


class Agent:
    """Keeps what changes in the session until the command asks.

    The feed tells most. A function that lives for less than a tick of it, such as one that a
    helper makes and drops, is looked at once more when it dies: its retraces count.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._put: dict[str, dict[str, protocol.Record]] = {}
        self._removed: dict[str, list[str]] = {}
        self._totals = protocol.Totals()
        self._feed = Feed(limits={}, environment=feed().environment)
        self._feed.subscribe(self._receive)
        feed().subscribe(lambda _: self._feed.flush())
        on_enlisted(self._watch)

    def _receive(self, message: protocol.Snapshot | protocol.Patch) -> None:
        self._totals = message.totals or self._totals
        if isinstance(message, protocol.Snapshot):
            self._add(message.state)
            return
        with self._lock:
            self._add(message.put)
            for name, ids in message.removed:
                self._removed.setdefault(name, []).extend(ids)

    def _add(self, rows: Iterable[tuple[str, Any]]) -> None:
        with self._lock:
            for name, table in rows:
                self._put.setdefault(name, {}).update(table)

    def _watch(self, function: Any) -> None:
        recorder = weakref.ref(function.recorder)
        late = weakref.finalize(
            function, self._ended, function.id, function.site, function.parameters, recorder
        )
        late.atexit = False

    def _ended(self, id: str, site: Site, parameters: str, recorder: Any) -> None:
        from nbfn.sessions.records import state_of

        found = recorder()
        if found is not None and found.calls:
            gone: Any = SimpleNamespace(id=id, site=site, parameters=parameters, recorder=found)
            self._add(state_of([gone]))
            with self._lock:
                self._removed.setdefault("functions", []).append(id)

    def taken(self) -> dict[str, Any]:
        """What has changed since this was asked last."""
        if (
            "nbfn.sessions.session" in sys.modules
        ):  # which the notebook's first use of TensorFlow loads
            from nbfn.sessions.environment import update_environment
            from nbfn.sessions.session import session

            update_environment(session().named(), now=True)
        self._feed.flush()
        with self._lock:
            put, self._put = self._put, {}
            removed, self._removed = self._removed, {}
        rows = {
            name: {id: row.model_dump(mode="json") for id, row in table.items()}
            for name, table in put.items()
        }
        tensorflow = getattr(sys.modules.get("tensorflow"), "__version__", None)
        totals = self._totals.model_dump(mode="json")
        return {"put": rows, "removed": removed, "totals": totals, "tensorflow": tensorflow}


_agent: Agent | None = None


def begin() -> Answer:
    """Loads nbfn into the kernel, and begins to keep what changes."""
    global _agent
    load(get_ipython())
    _agent = _agent or Agent()
    return Answer({"nbfn": __version__, "protocol": protocol.PROTOCOL})


def taken() -> Answer:
    """What has changed since this was asked last."""
    return Answer({} if _agent is None else _agent.taken())


def export(path: str, overwrite: bool, strict: bool) -> Answer:
    """Exports the session; of an error, what it says and whether the proof failed."""
    try:
        done = nbfn.export(path, overwrite=overwrite, strict=strict)
    except nbfn.NbfnError as error:
        return Answer({"error": str(error), "disproved": isinstance(error, AssertionError)})
    except Exception as error:
        return Answer({"error": f"{type(error).__name__}: {error}", "disproved": False})
    from nbfn.views.export import export_outline

    said = asdict(done)
    said |= {"path": os.fspath(done.path), "verified": said["verified"] + said["verified_traces"]}
    return Answer(said | {"page": export_outline(done).record().model_dump(mode="json")})
