"""The objects behind captured resources that are no variables: lookup tables and the like."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nbfn.errors import NbfnError
from nbfn.functions import TracedFunction
from nbfn.functions.traces.variable_names import resource_owners


class ExportError(NbfnError, ValueError):
    """An export was refused, or failed; what was there before is untouched."""


def owners_of(wanted: Mapping[int, str], functions: Mapping[str, TracedFunction]) -> list[Any]:
    """Finds the trackable object behind each captured resource.

    Args:
        wanted: Names of the captured handles, by ``id``.
        functions: The functions that capture them.

    Raises:
        ExportError: If a resource belongs to nothing that the functions or the notebook can name.
    """
    found: dict[int, Any] = {}
    if not wanted:
        return []
    for function in functions.values():
        found |= resource_owners(function.recorder.roots())
    missing = [name for handle, name in wanted.items() if handle not in found]
    if missing:
        raise ExportError(
            f"{', '.join(missing)} is captured, but no name of the notebook leads to the table or "
            "resource that it belongs to; assign that to a name first"
        )
    return [found[handle] for handle in wanted]
