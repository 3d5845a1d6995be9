"""Faults that hours have found and that are not mended yet, as reasons of expectations."""

from __future__ import annotations

DEAD_CAPTURES = "views list what only stale traces have captured, without a word"
OLD_NAMES = "captures of stale traces keep names that lead elsewhere now"
RELAX_FORGOTTEN = "a signature that was relaxed is forgotten when a guarded value changes"
RELAX_STALE = "a cell that only relaxes a function is told to be run again"
CALLS_ITS_OWN = "a cell that defines a function and calls it is not told to be run again"
METHOD_READS = "a cell that makes an object is told to be run again for what its methods read"
COMES_BACK = "a setting that comes back to an earlier value is not told as stale"
ALL_CAUSES = "dependencies list all causes of a function in one line"
DEAD_TRACES = "traces of variables that are gone are kept"
LAST_CALLER = "of the cells that call a stale function only the last one that traced is told"
OLD_ROWS_OF_CELLS = "the output of a cell grows by the traces and retraces of what is gone"
KEPT_NAMES = "where a graph with a write fails, the names of its lines keep what they held"
LONG_LIST = "dependencies list each of many cells to be run again"
RELAX_DTYPE = "after relax() of a number, a call with another dtype fails, which ran before"
CLASS_AGAIN = "a class that is defined again unchanged makes the cells that use it stale"
KEYS = "an object that is a key of a dict is read once, and not again"
DEFAULTS = "an item that a defaultdict has made while a trace is made is not read again"
MADE_MODULE = "constants of a module that no file has are read once, and not again"
REMAT = "nn.remat in a traced function keeps each model that it has been traced for"
UNTIL_ITS_CALL = "what a function has traced for objects that are gone goes with its next call"
STALE_FOR_GOOD = (
    "a cell that calls a stale tf.function is told to be run again, which changes nothing"
)
GONE_CODE = "traces of code that is gone are kept"
