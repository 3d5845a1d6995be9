"""The examples in docstrings of public names work as they stand."""

from __future__ import annotations

import inspect
import re
import textwrap
from typing import Any

import pytest

import nbfn
from nbfn import nn
from tests.docs.pages import Block, run

_EXAMPLE = re.compile(r"^ *Example\b[^\n]*::\n((?:\n| +[^\n]*\n)+?)(?=\n\S|\Z)", re.MULTILINE)
_REQUIRED = {"function", "Session", "export", "load", "jit", "vmap"}
_FIRST = {"load": "export"}
"""The example that must run before another one."""


def _example(value: Any) -> str | None:
    """The code of the example in a docstring."""
    found = _EXAMPLE.search((inspect.getdoc(value) or "") + "\n")
    return None if found is None else textwrap.dedent(found[1])


EXAMPLES = {
    name: code
    for module in (nbfn, nn)
    for name in module.__all__
    if (code := _example(getattr(module, name))) is not None
}


def test_the_main_names_have_one() -> None:
    assert EXAMPLES.keys() >= _REQUIRED


@pytest.mark.parametrize("name", EXAMPLES)
def test_it_runs(name: str, shell) -> None:
    names = [_FIRST[name], name] if name in _FIRST else [name]
    cells = ["import nbfn, keras\nimport tensorflow as tf\nfrom nbfn import nn"]
    cells += [EXAMPLES[each] for each in names]
    run(shell, [Block("python", cell, 1) for cell in cells])
