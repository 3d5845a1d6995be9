"""Which page belongs to which result."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from nbfn.functions.calls.placement import Placement, Run
from nbfn.functions.checking.check import Check
from nbfn.functions.graphs.lines import LineTimes
from nbfn.functions.inside.failure import Failure
from nbfn.functions.inside.numerics import Numerics
from nbfn.functions.inside.values import Values
from nbfn.functions.recording.explanation import Explanation
from nbfn.functions.retraces.diff import TraceDiff
from nbfn.functions.signatures.cover import Cover
from nbfn.functions.traces.capture import Captures
from nbfn.functions.traces.cause import Retrace, Retraces
from nbfn.functions.traces.trace import Traces
from nbfn.outlines.outline import Outline
from nbfn.sessions.contents.statistics import Statistics, statistics_outline
from nbfn.sessions.dependencies import Dependencies
from nbfn.sessions.export.preflight import Preflight
from nbfn.sessions.session_placement import SessionPlacement
from nbfn.views.pages.dependencies import dependencies_outline
from nbfn.views.pages.difference import difference_outline
from nbfn.views.pages.explanation import explanation_outline, retrace_outline
from nbfn.views.pages.inside import failure_outline, lines_outline, numerics_outline, values_outline
from nbfn.views.pages.placement import placement_outline, session_placement_outline
from nbfn.views.pages.results import (
    captures_outline,
    check_outline,
    preflight_outline,
    retraces_outline,
    run_outline,
    suggestion_outline,
    traces_outline,
)

_OUTLINES: Mapping[type, Callable[[Any], Outline]] = {
    Captures: captures_outline,
    Check: check_outline,
    Cover: suggestion_outline,
    Dependencies: dependencies_outline,
    Explanation: explanation_outline,
    Failure: failure_outline,
    LineTimes: lines_outline,
    Values: values_outline,
    Numerics: numerics_outline,
    Placement: placement_outline,
    Preflight: preflight_outline,
    Retrace: retrace_outline,
    Retraces: retraces_outline,
    Run: run_outline,
    SessionPlacement: session_placement_outline,
    Statistics: statistics_outline,
    TraceDiff: difference_outline,
    Traces: traces_outline,
}


def page_of(result: Any) -> Outline:
    """Returns the outline of a result."""
    return _OUTLINES[type(result)](result)
