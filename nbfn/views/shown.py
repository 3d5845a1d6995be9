"""Lists the classes that are displayed as views, without importing them."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nbfn.outlines.outline import Outline

LIVE = (
    "nbfn.functions.traced.traced_function.TracedFunction",
    "nbfn.functions.watching.watched_function.WatchedFunction",
    "nbfn.functions.watching.watched_object.WatchedObject",
    "nbfn.functions.segments.cell.TracedCell",
    "nbfn.sessions.session.Session",
)
"""The classes of objects that change after they have been displayed."""

FIXED = (
    "nbfn.functions.traces.trace.Trace",
    "nbfn.functions.calls.operation_times.Times",
    "nbfn.modules.module.module.Module",
    "nbfn.sessions.contents.model.Model",
    "nbfn.sessions.load.LoadedSession",
    "nbfn.sessions.export.export.Export",
)
"""Those of other objects with a view of their own."""

PAGES: Mapping[str, str] = {
    "nbfn.functions.calls.placement.Placement": "placement_outline.placement_outline",
    "nbfn.functions.calls.placement.Run": "results.run_outline",
    "nbfn.functions.checking.check.Check": "results.check_outline",
    "nbfn.functions.graphs.lines.LineTimes": "inside.lines_outline",
    "nbfn.functions.inside.failure.Failure": "inside.failure_outline",
    "nbfn.functions.inside.numerics.Numerics": "inside.numerics_outline",
    "nbfn.functions.inside.values.Values": "inside.values_outline",
    "nbfn.functions.recording.explanation.Explanation": "explanation_outline.explanation_outline",
    "nbfn.functions.retraces.diff.TraceDiff": "difference.difference_outline",
    "nbfn.functions.signatures.cover.Cover": "results.suggestion_outline",
    "nbfn.functions.traces.capture.Captures": "results.captures_outline",
    "nbfn.functions.traces.cause.Retrace": "explanation_outline.retrace_outline",
    "nbfn.functions.traces.cause.Retraces": "results.retraces_outline",
    "nbfn.functions.traces.trace.Traces": "results.traces_outline",
    "nbfn.sessions.contents.statistics.Statistics": "results.statistics_outline",
    "nbfn.sessions.dependencies.Dependencies": "dependencies_outline.dependencies_outline",
    "nbfn.sessions.export.preflight.Preflight": "results.preflight_outline",
    "nbfn.sessions.session_placement.SessionPlacement": (
        "placement_outline.session_placement_outline"
    ),
}
"""Those of results, with the function in `nbfn.views.pages` that makes the outline."""

SHOWN = (*LIVE, *FIXED, *PAGES)


def page_of(result: Any) -> Outline:
    """Returns the outline of a result."""
    cls = type(result)
    module, _, function = PAGES[f"{cls.__module__}.{cls.__name__}"].partition(".")
    outline: Outline = getattr(import_module(f"nbfn.views.pages.{module}"), function)(result)
    return outline
