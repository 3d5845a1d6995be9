"""Faults that hours have found and that are not mended yet, as reasons of expectations."""

from __future__ import annotations

DEAD_CAPTURES = "views list what only stale traces have captured, without a word"
OLD_NAMES = "captures of stale traces keep names that lead elsewhere now"
DEAD_TRACES = "traces of variables that are gone are kept"
OLD_ROWS_OF_CELLS = "the output of a cell grows by the traces and retraces of what is gone"
KEPT_NAMES = "where a graph with a write fails, the names of its lines keep what they held"
KEYS = "an object that is a key of a dict is read once, and not again"
DEFAULTS = "an item that a defaultdict has made while a trace is made is not read again"
MADE_MODULE = "constants of a module that no file has are read once, and not again"
REMAT = "nn.remat in a traced function keeps each model that it has been traced for"
DELETED = "a name that was deleted is told as None"
SHADOWED = "an attribute that hides one of the class is told as two changes, one that is not there"
GONE_CODE = "traces of constants of a helper file that were edited are kept"
