"""The public names, and where each is: the only list of them."""

import typing

from . import modules as modules
from .errors import NbfnError as NbfnError
from .errors import NbfnWarning as NbfnWarning
from .functions.checking.check import Check as Check
from .functions.graphs.carve import carve as carve
from .functions.graphs.lines import LineTimes as LineTimes
from .functions.graphs.lines import lines as lines
from .functions.graphs.wrap import wrap_function as wrap_function
from .functions.inside.numerics import Numerics as Numerics
from .functions.inside.numerics_checker import NumericsError as NumericsError
from .functions.postmortem import PostmortemError as PostmortemError
from .functions.postmortem import postmortem as postmortem
from .functions.progress import progress as progress
from .functions.recording.expectation import TooManyTracesError as TooManyTracesError
from .functions.recording.expectation import expect_traces as expect_traces
from .functions.recording.refusal import RetraceError as RetraceError
from .functions.recording.refusal import StaleTraceError as StaleTraceError
from .functions.recording.refusal import TraceLimitError as TraceLimitError
from .functions.recording.stance import stance as stance
from .functions.retraces.diff import diff as diff
from .functions.signatures.pattern import PYTHON_VALUE as PYTHON_VALUE
from .functions.signatures.pattern import TRACE_ON_NEW_VALUE as TRACE_ON_NEW_VALUE
from .functions.signatures.pattern import ListOf as ListOf
from .functions.signatures.pattern import SignatureError as SignatureError
from .functions.traced.function import function as function
from .functions.traced.traced_function import TracedFunction as TracedFunction
from .functions.watching.watch import watch as watch
from .sessions.checkpoint import restore as restore
from .sessions.checkpoint import save as save
from .sessions.cluster.connect import ConnectError as ConnectError
from .sessions.cluster.connect import Connection as Connection
from .sessions.cluster.connect import connect as connect
from .sessions.cluster.spread import StrategyError as StrategyError
from .sessions.export.export import Export as Export
from .sessions.export.export import export as export
from .sessions.export.preflight import preflight as preflight
from .sessions.load import LoadedSession as LoadedSession
from .sessions.load import load as load
from .sessions.session import Session as Session
from .sessions.session import session as session
from .views.report import report as report

nn = modules

__version__: str

def load_ipython_extension(shell: typing.Any) -> None: ...
def unload_ipython_extension(shell: typing.Any) -> None: ...
