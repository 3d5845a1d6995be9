"""The RFC "Functions, not Sessions": traced functions, and everything one may ask of a trace."""

from nbfn.functions.capture import Capture as Capture
from nbfn.functions.function import function as function
from nbfn.functions.live import delist as delist
from nbfn.functions.live import live_functions as live_functions
from nbfn.functions.refusal import TraceLimitError as TraceLimitError
from nbfn.functions.retrace import Cause as Cause
from nbfn.functions.retrace import Retrace as Retrace
from nbfn.functions.stance import stance as stance
from nbfn.functions.trace import EvictedError as EvictedError
from nbfn.functions.trace import Trace as Trace
from nbfn.functions.traced import TracedFunction as TracedFunction
from nbfn.functions.under_way import Doing as Doing
