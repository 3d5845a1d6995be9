"""Registers the classes that are displayed as views, without importing them."""

from __future__ import annotations

from typing import Any

from IPython.core.interactiveshell import InteractiveShell

from nbfn.errors import reporting
from nbfn.views.shown import SHOWN


def register_formatters(shell: InteractiveShell) -> None:
    """Registers a MIME bundle for each displayed class by name, without importing it."""
    formatter = shell.display_formatter.mimebundle_formatter
    for name in SHOWN:
        formatter.for_type_by_name(*split(name), _format)


def unregister_formatters(shell: InteractiveShell) -> None:
    """Removes the registrations."""
    formatter = shell.display_formatter.mimebundle_formatter
    for name in SHOWN:
        forget(formatter, name)


def split(name: str) -> tuple[str, str]:
    """Returns the module and the name of a class."""
    module, _, own = name.rpartition(".")
    return module, own


def forget(formatter: Any, name: str) -> None:
    """Removes the registration of a class by name."""
    # IPython moves a registration by name to `type_printers` when it first shows an instance of
    # the class (IPython 9.18).
    formatter.deferred_printers.pop(split(name), None)
    for cls in list(formatter.type_printers):
        if f"{cls.__module__}.{cls.__name__}" == name:
            formatter.pop(cls)


def _format(value: Any) -> Any:
    from nbfn.views.bundle import bundle_of, metadata_of

    # A failing view must not fail the cell.
    with reporting(f"could not show a {type(value).__name__}, and shows its text"):
        data = bundle_of(value)
        return data, metadata_of(data)
    # IPython then uses its other formatters, the text among them.
    return {}
