"""The RFC "Functions, not Sessions": traced functions and their traces."""

from nbfn.functions.recording.registry import live_functions as live_functions
from nbfn.functions.recording.registry import unregister as unregister
from nbfn.functions.recording.stance import stance as stance
from nbfn.functions.traced.function import function as function
from nbfn.functions.traced.traced_function import TracedFunction as TracedFunction
from nbfn.functions.traces.capture import Capture as Capture
from nbfn.functions.traces.cause import Cause as Cause
from nbfn.functions.traces.cause import Retrace as Retrace
from nbfn.functions.traces.trace import Trace as Trace

# What shows long work looks for it among the loaded modules, because it imports no TensorFlow.
from nbfn.functions.watching.activity import Activity as Activity
