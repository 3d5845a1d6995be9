"""The part of the command that runs in the notebook's kernel, between cells.

The command evaluates functions of this module as user expressions of silent requests. So they do
not count as cells: they change no execution count and define no names.
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
from nbfn.notebook.extension import load
from nbfn.package import __version__
from nbfn.sessions.messages.feed import Feed, feed
from nbfn.site import Site
from nbfn.underway.registered import on_registered


class Answer:
    """A JSON answer, which a kernel sends as the MIME bundle of a user expression."""

    def __init__(self, data: dict[str, Any]) -> None:
        self._data = data

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        return {"application/json": self._data, "text/plain": ""}


class Agent:
    """Collects changes of the session until the command requests them.

    Most changes come from the feed. A function that exists for less than one tick of the feed, such
    as one that a helper makes and drops, is read once more when it is deleted, so its retraces
    count.
    """

    def __init__(self) -> None:
        # Reentrant: the finalizer `_on_call` may run on a thread that has the lock, at any
        # allocation.
        self._lock = threading.RLock()
        self._put: dict[str, dict[str, protocol.ProtocolRecord]] = {}
        self._removed: dict[str, set[str]] = {}
        self._totals = protocol.Totals()
        self._feed = Feed(limits={}, environment=feed().environment)
        self._feed.subscribe(self._receive)
        feed().subscribe(lambda _: self._feed.flush())
        on_registered(self._watch)

    def _receive(self, message: protocol.SnapshotMessage | protocol.Patch) -> None:
        self._totals = message.totals or self._totals
        if isinstance(message, protocol.SnapshotMessage):
            self._add(message.state)
            return
        with self._lock:
            self._add(message.put)
            self._remove(message.removed)

    def _add(self, rows: Iterable[tuple[str, Any]]) -> None:
        with self._lock:
            for name, table in rows:
                # A row may come again after it was removed.
                self._put.setdefault(name, {}).update(table)
                self._removed.setdefault(name, set()).difference_update(table)

    def _remove(self, rows: Iterable[tuple[str, Iterable[str]]]) -> None:
        for name, ids in rows:
            self._removed.setdefault(name, set()).update(ids)

    def _watch(self, function: Any) -> None:
        recorder = weakref.ref(function.recorder)
        late = weakref.finalize(
            function, self._on_call, function.id, function.site, function.parameters, recorder
        )
        late.atexit = False

    def _on_call(self, id: str, site: Site, parameters: str, recorder: Any) -> None:
        from nbfn.sessions.messages.records import state_of

        found = recorder()
        if found is not None and found.calls:
            deleted: Any = SimpleNamespace(id=id, site=site, parameters=parameters, recorder=found)
            rows = state_of([deleted])
            # A variable that something else holds is in the feed, or will be after its next flush.
            listed = self._feed.shown.rows.variables
            with self._lock:
                self._add(rows)
                self._remove((name, table) for name, table in rows if name != "variables")
                self._remove([("variables", (id for id in rows.variables if id not in listed))])

    def take_changes(self) -> dict[str, Any]:
        """Returns the changes since the last call."""
        if "nbfn.sessions.session" in sys.modules:  # loaded when the notebook first uses TensorFlow
            from nbfn.sessions.messages.environment import update_environment
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
        removed_ids = {name: list(ids) for name, ids in removed.items()}
        return {"put": rows, "removed": removed_ids, "totals": totals, "tensorflow": tensorflow}


_agent: Agent | None = None


def begin() -> Answer:
    """Loads nbfn into the kernel and begins to collect changes."""
    global _agent
    load(get_ipython())
    _agent = _agent or Agent()
    return Answer({"nbfn": __version__, "protocol": protocol.PROTOCOL})


def take_changes() -> Answer:
    """Returns the changes since the last call."""
    return Answer({} if _agent is None else _agent.take_changes())


def export(path: str, overwrite: bool, strict: bool) -> Answer:
    """Exports the session; returns an error's message and whether the verification failed."""
    try:
        done = nbfn.export(path, overwrite=overwrite, strict=strict)
    except nbfn.NbfnError as error:
        return Answer({"error": str(error), "is_wrong": isinstance(error, AssertionError)})
    except Exception as error:
        return Answer({"error": f"{type(error).__name__}: {error}", "is_wrong": False})
    from nbfn.views.export_outline import export_outline

    answer = asdict(done)
    verified = answer["verified"] + answer["verified_traces"]
    answer |= {"path": os.fspath(done.path), "verified": verified}
    return Answer(answer | {"page": export_outline(done).record().model_dump(mode="json")})
