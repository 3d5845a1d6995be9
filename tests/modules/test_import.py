"""Each way to import the modules gives the same package."""

from __future__ import annotations

import importlib

import nbfn
import nbfn.nn as by_path
from nbfn import nn
from nbfn.nn import Module, initializers


def test_all_ways_are_one() -> None:
    assert by_path is nn is nbfn.nn is nbfn.modules is importlib.import_module("nbfn.nn")
    assert nn.Module is Module
    assert nn.initializers is initializers
    assert importlib.import_module("nbfn.nn.initializers") is initializers
