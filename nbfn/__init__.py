"""nbfn: a Jupyter-first environment for TensorFlow.

``%load_ext nbfn`` in a notebook adds the magics and the live views; the names below also work
without it. Importing nbfn does not import TensorFlow: each name is loaded on first use.
``__init__.pyi`` lists the names.
"""

from __future__ import annotations

import sys
from typing import Any

import lazy_loader

from nbfn.errors import without_tensorflow

_load, _, _names = lazy_loader.attach_stub(__name__, __file__)
_ALIASES = {"nn": "modules"}

__all__ = sorted({*_names, *_ALIASES, "__version__"} - {*_ALIASES.values()})


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from nbfn.package import __version__

        return __version__
    from nbfn.code import keeping_random_state  # imported late, because it is slow to import

    try:
        with keeping_random_state():
            value = _load(_ALIASES.get(name, name))
    except AttributeError:
        from nbfn.text import did_you_mean

        hint = did_you_mean(name, __all__, "nbfn.{}")
        raise AttributeError(f"module 'nbfn' has no attribute {name!r}{hint}") from None
    except Exception as error:
        replacement = without_tensorflow(error)
        if replacement is None:
            raise
        raise replacement from replacement.__cause__
    # Python calls `__getattr__` of a module only for names that it does not find (PEP 562).
    globals()[name] = value
    _show_in_notebook()
    return value


def __dir__() -> list[str]:
    return list(__all__)


def _show_in_notebook() -> None:
    """Registers formatters with a running IPython, so that views work without the extension."""
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
    """Returns where JupyterLab finds the front end."""
    return [{"src": "labextension", "dest": "nbfn-labextension"}]
