"""nbfn: a Jupyter-first environment for TensorFlow.

``%load_ext nbfn`` in a notebook gives the magics and the live views; the names below work
everywhere. Importing nbfn imports no TensorFlow: each name is loaded when it is first used.
"""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING, Any

from nbfn.errors import NbfnError as NbfnError
from nbfn.errors import NbfnWarning as NbfnWarning
from nbfn.errors import without_tensorflow

if TYPE_CHECKING:
    from nbfn import modules as nn
    from nbfn.functions.checking.check import Check
    from nbfn.functions.graphs.carve import carve
    from nbfn.functions.graphs.compare import diff
    from nbfn.functions.graphs.lines import LineTimes, lines
    from nbfn.functions.graphs.wrap import wrap_function
    from nbfn.functions.inside.monitor import NumericsError
    from nbfn.functions.inside.numerics import Numerics
    from nbfn.functions.postmortem import PostmortemError, postmortem
    from nbfn.functions.progress import progress
    from nbfn.functions.recording.expectation import TooManyTracesError, expect_traces
    from nbfn.functions.recording.refusal import RetraceError, StaleTraceError, TraceLimitError
    from nbfn.functions.recording.stance import stance
    from nbfn.functions.signatures.pattern import (
        PYTHON_VALUE,
        TRACE_ON_NEW_VALUE,
        ListOf,
        SignatureError,
    )
    from nbfn.functions.traced.function import function
    from nbfn.functions.traced.traced_function import TracedFunction
    from nbfn.functions.watching.watch import watch
    from nbfn.sessions.checkpoint import restore, save
    from nbfn.sessions.cluster.connect import Connection, connect
    from nbfn.sessions.cluster.errors import ConnectError, StrategyError
    from nbfn.sessions.export.export import Export, export
    from nbfn.sessions.export.preflight import preflight
    from nbfn.sessions.load import LoadedSession, load
    from nbfn.sessions.session import Session, session
    from nbfn.views.report import report

_NAMES = {
    "Check": "nbfn.functions.checking.check",
    "watch": "nbfn.functions.watching.watch",
    "wrap_function": "nbfn.functions.graphs.wrap",
    "function": "nbfn.functions.traced.function",
    "TracedFunction": "nbfn.functions.traced.traced_function",
    "carve": "nbfn.functions.graphs.carve",
    "diff": "nbfn.functions.graphs.compare",
    "LineTimes": "nbfn.functions.graphs.lines",
    "lines": "nbfn.functions.graphs.lines",
    "TooManyTracesError": "nbfn.functions.recording.expectation",
    "expect_traces": "nbfn.functions.recording.expectation",
    "ListOf": "nbfn.functions.signatures.pattern",
    "PYTHON_VALUE": "nbfn.functions.signatures.pattern",
    "SignatureError": "nbfn.functions.signatures.pattern",
    "TRACE_ON_NEW_VALUE": "nbfn.functions.signatures.pattern",
    "Numerics": "nbfn.functions.inside.numerics",
    "NumericsError": "nbfn.functions.inside.monitor",
    "PostmortemError": "nbfn.functions.postmortem",
    "postmortem": "nbfn.functions.postmortem",
    "progress": "nbfn.functions.progress",
    "RetraceError": "nbfn.functions.recording.refusal",
    "StaleTraceError": "nbfn.functions.recording.refusal",
    "TraceLimitError": "nbfn.functions.recording.refusal",
    "stance": "nbfn.functions.recording.stance",
    "restore": "nbfn.sessions.checkpoint",
    "save": "nbfn.sessions.checkpoint",
    "Connection": "nbfn.sessions.cluster.connect",
    "connect": "nbfn.sessions.cluster.connect",
    "ConnectError": "nbfn.sessions.cluster.errors",
    "StrategyError": "nbfn.sessions.cluster.errors",
    "Export": "nbfn.sessions.export.export",
    "export": "nbfn.sessions.export.export",
    "preflight": "nbfn.sessions.export.preflight",
    "LoadedSession": "nbfn.sessions.load",
    "load": "nbfn.sessions.load",
    "Session": "nbfn.sessions.session",
    "session": "nbfn.sessions.session",
    "report": "nbfn.views.report",
}
_MODULES = {"nn": "nbfn.modules"}

__all__ = [
    "PYTHON_VALUE",
    "TRACE_ON_NEW_VALUE",
    "Check",
    "ConnectError",
    "Connection",
    "Export",
    "LineTimes",
    "ListOf",
    "LoadedSession",
    "NbfnError",
    "NbfnWarning",
    "Numerics",
    "NumericsError",
    "PostmortemError",
    "RetraceError",
    "Session",
    "SignatureError",
    "StaleTraceError",
    "StrategyError",
    "TooManyTracesError",
    "TraceLimitError",
    "TracedFunction",
    "__version__",
    "carve",
    "connect",
    "diff",
    "expect_traces",
    "export",
    "function",
    "lines",
    "load",
    "nn",
    "postmortem",
    "preflight",
    "progress",
    "report",
    "restore",
    "save",
    "session",
    "stance",
    "watch",
    "wrap_function",
]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from nbfn._version import __version__

        return __version__
    if name not in _MODULES and name not in _NAMES:
        raise AttributeError(f"module 'nbfn' has no attribute {name!r}")
    try:
        value: Any = importlib.import_module(_MODULES.get(name) or _NAMES[name])
    except Exception as error:
        told = without_tensorflow(error)
        if told is None:
            raise
        raise told from told.__cause__
    if name in _NAMES:
        value = getattr(value, name)
    globals()[name] = value
    _show_in_notebook()
    return value


def __dir__() -> list[str]:
    return sorted(__all__)


def _show_in_notebook() -> None:
    """Lets a running IPython display nbfn's objects as views, also without the extension."""
    if "IPython" in sys.modules:
        from IPython.core.getipython import get_ipython

        shell = get_ipython()
        if shell is not None:
            from nbfn.notebook.formatters import register_formatters

            register_formatters(shell)


def load_ipython_extension(shell: Any) -> None:
    """Called by ``%load_ext nbfn``."""
    from nbfn.notebook.extension import load

    load(shell)


def unload_ipython_extension(shell: Any) -> None:
    """Called by ``%unload_ext nbfn``."""
    from nbfn.notebook.extension import unload

    unload(shell)


def _jupyter_labextension_paths() -> list[dict[str, str]]:
    """Where JupyterLab finds the front end."""
    return [{"src": "labextension", "dest": "nbfn-labextension"}]
