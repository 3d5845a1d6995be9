"""Registers the classes that are displayed as views, without importing them."""

from __future__ import annotations

from typing import Any

from IPython.core.interactiveshell import InteractiveShell

from nbfn.errors import reporting

_SHOWN = (
    ("nbfn.functions.traced.traced_function", "TracedFunction"),
    ("nbfn.functions.watching.watched_function", "WatchedFunction"),
    ("nbfn.functions.segments.cell", "TracedCell"),
    ("nbfn.functions.traces.trace", "Trace"),
    ("nbfn.modules.module.module", "Module"),
    ("nbfn.sessions.session", "Session"),
    ("nbfn.sessions.contents.statistics", "Statistics"),
    ("nbfn.sessions.contents.model", "Model"),
    ("nbfn.sessions.session_placement", "SessionPlacement"),
    ("nbfn.sessions.dependencies", "Dependencies"),
    ("nbfn.sessions.load", "LoadedSession"),
    ("nbfn.sessions.export.export", "Export"),
    ("nbfn.functions.calls.placement", "Placement"),
    ("nbfn.functions.calls.operation_times", "Times"),
    ("nbfn.functions.checking.check", "Check"),
    ("nbfn.functions.inside.failure", "Failure"),
    ("nbfn.functions.inside.numerics", "Numerics"),
    ("nbfn.functions.graphs.lines", "LineTimes"),
    ("nbfn.functions.inside.values", "Values"),
    ("nbfn.functions.recording.explanation", "Explanation"),
    ("nbfn.functions.retraces.diff", "TraceDiff"),
    ("nbfn.functions.signatures.cover", "Cover"),
    ("nbfn.functions.traces.capture", "Captures"),
    ("nbfn.functions.traces.cause", "Retrace"),
    ("nbfn.functions.traces.cause", "Retraces"),
    ("nbfn.functions.traces.trace", "Traces"),
    ("nbfn.functions.calls.placement", "Run"),
    ("nbfn.functions.watching.watched_object", "WatchedObject"),
    ("nbfn.sessions.export.preflight", "Preflight"),
)


_CHANGING = ("TracedFunction", "WatchedFunction", "WatchedObject", "TracedCell", "Session")

LIVE = tuple(each for each in _SHOWN if each[1] in _CHANGING)
"""The classes of objects that change after they have been displayed."""


def register_formatters(shell: InteractiveShell) -> None:
    """Registers a MIME bundle for each displayed class by name, without importing it."""
    formatter = shell.display_formatter.mimebundle_formatter
    for module, name in _SHOWN:
        formatter.for_type_by_name(module, name, _format)


def unregister_formatters(shell: InteractiveShell) -> None:
    """Removes the registrations."""
    formatter = shell.display_formatter.mimebundle_formatter
    for module, name in _SHOWN:
        forget(formatter, module, name)


def forget(formatter: Any, module: str, name: str) -> None:
    """Removes the registration of a class by name."""
    # IPython moves a registration by name to `type_printers` when it first shows an instance of
    # the class (IPython 9.18).
    formatter.deferred_printers.pop((module, name), None)
    for cls in list(formatter.type_printers):
        if (cls.__module__, cls.__name__) == (module, name):
            formatter.pop(cls)


def _format(value: Any) -> Any:
    from nbfn import views

    # A failing view must not fail the cell.
    with reporting(f"could not show a {type(value).__name__}, and shows its text"):
        data = views.bundle_of(value)
        return data, views.metadata_of(data)
    # IPython then uses its other formatters, the text among them.
    return {}
