"""The variables, lookup tables and other resources that a model holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from nbfn.errors import NbfnError
from nbfn.functions.traces.variable_names import resource_owners
from nbfn.sessions.export import replay


class ExportError(NbfnError, ValueError):
    """Raised if an export is refused or fails; what existed before is untouched.

    Attributes:
        problems: The problems for which it was refused, if `preflight` found them.
    """

    problems: Sequence[Any] = ()


@dataclass(frozen=True)
class ModelResources:
    """The variables and resources of a model.

    Attributes:
        variables: The variables by name.
        owners: The objects that own captured resources, by name.
        dtypes: For each table among the owners: its number, and the dtypes of its keys and values.
    """

    variables: Mapping[str, tf.Variable]
    owners: Mapping[str, Any]
    dtypes: Sequence[tuple[int, tuple[str, str]]]

    @property
    def has_unknown_resources(self) -> bool:
        """Whether there are resources whose entries cannot be read."""
        return len(self.dtypes) < len(self.owners)

    def state(self) -> replay.ModelState:
        """Returns the current state of variables and tables."""
        owners = list(self.owners.values())
        handles = [owners[number].resource_handle for number, _ in self.dtypes]
        return replay.ModelState(
            list(self.variables.values()), handles, [dtypes for _, dtypes in self.dtypes]
        )

    def captured_by(self, concrete: Any) -> list[str]:
        """Returns a trace's captured variables and tables, as `replay.ModelState` names them."""
        captured = {id(each) for each in concrete.captured_inputs}
        captured |= {id(each) for each in concrete.graph.variables}
        variables = [
            f"/{i}"
            for i, each in enumerate(self.variables.values())
            if id(each) in captured or id(getattr(each, "handle", each)) in captured
        ]
        return variables + [f"//{i}" for i in range(len(self.dtypes))]

    def describe(self, key: str) -> str:
        """Describes a variable or table, given as `replay.ModelState` names it."""
        number = int(key.strip("/").split("/")[0])
        if key.startswith("//"):
            return f"table `{list(self.owners)[self.dtypes[number][0]]}`"
        return f"variable `{list(self.variables)[number]}`"


def model_resources(
    variables: Mapping[str, tf.Variable], owners: Mapping[str, Any]
) -> ModelResources:
    """Builds the record of a model's contents, and finds the tables whose entries can be read."""
    found: list[tuple[int, tuple[str, str]]] = []
    for number, owner in enumerate(owners.values()):
        try:
            dtypes = (owner.key_dtype.name, owner.value_dtype.name)
            replay.entries(owner.resource_handle, dtypes)
        except (AttributeError, ValueError, TypeError, tf.errors.OpError):
            continue
        found.append((number, dtypes))
    return ModelResources(variables, owners, found)


def owners_of(wanted: Mapping[int, str], functions: Mapping[str, Any]) -> dict[str, Any]:
    """Finds the trackable owner of each captured resource.

    Args:
        wanted: Names of the captured handles, by ``id``.
        functions: For each function, the names and values that it can refer to.

    Raises:
        ExportError: If a resource belongs to nothing that the functions or the notebook can name.
    """
    found: dict[int, Any] = {}
    if not wanted:
        return {}
    for named in functions.values():
        found |= resource_owners(named)
    missing = [name for handle, name in wanted.items() if handle not in found]
    if missing:
        raise ExportError(
            f"{', '.join(missing)} is captured, but no name of the notebook leads to the table or "
            "resource that it belongs to; assign that to a name first"
        )
    owners: dict[str, Any] = {}
    for handle, name in wanted.items():
        owner, unique = found[handle], name
        inner = getattr(owner, "_table", None)  # a vocabulary table wraps another one
        if getattr(inner, "resource_handle", None) is getattr(owner, "resource_handle", owner):
            owner = inner
        while unique in owners:
            unique += "'"
        owners[unique] = owner
    return owners
