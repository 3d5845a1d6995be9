"""Which of nbfn's objects are displayed as views; each view is imported when it is first needed."""

from __future__ import annotations

from typing import Any

from IPython.core.interactiveshell import InteractiveShell

from nbfn.errors import tell_failure

_SHOWN = (
    ("nbfn.functions.traced.traced_function", "TracedFunction", "function_bundle"),
    ("nbfn.functions.watching.watched_function", "WatchedFunction", "function_bundle"),
    ("nbfn.functions.segments.cell", "TracedCell", "cell_bundle"),
    ("nbfn.functions.traces.trace", "Trace", "trace_bundle"),
    ("nbfn.modules.module.module", "Module", "module_bundle"),
    ("nbfn.sessions.session", "Session", "session_bundle"),
    ("nbfn.sessions.contents.statistics", "Statistics", "result_bundle"),
    ("nbfn.sessions.contents.model", "Model", "model_bundle"),
    ("nbfn.sessions.placement", "SessionPlacement", "result_bundle"),
    ("nbfn.sessions.dependencies", "Dependencies", "result_bundle"),
    ("nbfn.sessions.load", "LoadedSession", "loaded_bundle"),
    ("nbfn.sessions.export.export", "Export", "export_bundle"),
    ("nbfn.functions.calls.placement", "Placement", "result_bundle"),
    ("nbfn.functions.calls.times", "Times", "result_bundle"),
    ("nbfn.functions.checking.check", "Check", "result_bundle"),
    ("nbfn.functions.recording.explanation", "Explanation", "result_bundle"),
    ("nbfn.functions.retraces.diff", "TraceDiff", "result_bundle"),
    ("nbfn.functions.signatures.cover", "Cover", "result_bundle"),
    ("nbfn.functions.traces.capture", "Captures", "result_bundle"),
    ("nbfn.functions.traces.cause", "Retrace", "result_bundle"),
    ("nbfn.functions.watching.watched_object", "WatchedObject", "result_bundle"),
    ("nbfn.sessions.export.preflight", "Preflight", "result_bundle"),
)


_CHANGING = ("TracedFunction", "WatchedFunction", "WatchedObject", "TracedCell", "Session")

LIVE = tuple((module, name) for module, name, _ in _SHOWN if name in _CHANGING)
"""The classes of what changes after it has been displayed."""


def register_formatters(shell: InteractiveShell) -> None:
    """Registers a MIME bundle for each displayed class, by name, so that nothing is imported."""
    formatter = shell.display_formatter.mimebundle_formatter
    for module, name, bundle in _SHOWN:
        formatter.for_type_by_name(module, name, _late(bundle))


def unregister_formatters(shell: InteractiveShell) -> None:
    """Takes the registrations back."""
    formatter = shell.display_formatter.mimebundle_formatter
    for module, name, _ in _SHOWN:
        forget(formatter, module, name)


def forget(formatter: Any, module: str, name: str) -> None:
    """Takes back what was registered for a class by its name."""
    formatter.deferred_printers.pop((module, name), None)
    for cls in list(formatter.type_printers):
        if (cls.__module__, cls.__name__) == (module, name):
            formatter.pop(cls)


def _late(bundle: str) -> Any:
    def format_(value: Any) -> Any:
        from nbfn import views

        try:
            data = getattr(views, bundle)(value)
            return data, views.metadata_of(data)
        except Exception as error:  # a view that fails must not fail the user's cell
            tell_failure(f"could not show a {type(value).__name__}, and shows its text", error)
            return {}

    return format_
