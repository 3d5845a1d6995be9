"""The common base of ``nn.Sequential`` and ``nn.Composite``: named parts, called in order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import tensorflow as tf

from nbfn._tensorflow import call_as_here
from nbfn.modules.containers.parts import options_of, takes
from nbfn.modules.errors import PathNotFoundError, did_you_mean, show_names
from nbfn.modules.lifecycle.fields import is_module
from nbfn.modules.lifecycle.methods import compact_if_bound, nowrap
from nbfn.modules.module.module import Module


class Container(Module):
    """A module that calls its parts in order, each with the output of the previous one."""

    @compact_if_bound  # so that a function among the parts can make modules
    def __call__(self, *args: Any, **options: Any) -> Any:
        """Calls the parts in order.

        Args:
          *args: for the first part; each other part gets what the one before returned: a tuple as
            its arguments, a dict as its keyword arguments.
          **options: for the parts that take them, such as ``training=True``.

        Returns:
          What the last part returns; without parts, the argument.

        Raises:
          PartError: no part takes one of the options.
          EmptySequentialError: an ``nn.Sequential`` has no parts.
        """
        self._check_parts()
        parts = self._parts()
        output = args[0] if len(args) == 1 else args
        keywords: dict[str, Any] = {}
        for part, chosen in zip(
            parts, options_of(parts, options, type(self).__name__), strict=True
        ):
            output = call_as_here(part, args, {**chosen, **keywords})
            args, keywords = _as_arguments(output)
        return output

    @nowrap
    def _check_parts(self) -> None:
        """Refuses parts with which the module cannot be called."""

    @nowrap
    def _parts(self) -> Sequence[Any]:
        raise NotImplementedError

    @nowrap
    def _names(self) -> Sequence[str]:
        raise NotImplementedError

    @nowrap
    def _takes(self, option: str) -> bool:
        return any(takes(part, option) for part in self._parts())

    @nowrap
    def __len__(self) -> int:
        return len(self._parts())

    @nowrap
    def __bool__(self) -> bool:
        return True

    @nowrap
    def __iter__(self) -> Iterator[Any]:  # type: ignore[override]
        return iter(self._parts())

    @nowrap
    def __getitem__(self, key: Any) -> Any:
        """Returns a part by index, or part or variable by path: ``seq[0]``, ``seq["block/conv"]``.

        Raises:
          IndexError: there is no part with that index.
          PathNotFoundError: there is nothing at that path.
        """
        if not isinstance(key, str):
            parts = self._parts()
            return list(parts[key]) if isinstance(key, slice) else parts[key]
        first, _, rest = key.partition("/")
        part = dict(zip(self._names(), self._parts(), strict=True)).get(first)
        if part is None or is_module(part):
            return super().__getitem__(key)
        return _below(part, rest, key) if rest else part


def _as_arguments(output: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    if isinstance(output, dict):
        return (), output
    return output if isinstance(output, tuple) else (output,), {}


def _below(part: Any, path: str, whole: str) -> Any:
    """Returns what another ``tf.Module`` holds at a path of attributes or module names."""
    for name in path.split("/"):
        inside = {m.name: m for m in _direct(part)}
        found = getattr(part, name, None) if hasattr(part, name) else inside.get(name)
        if found is None:
            names = {*inside, *(n for n in vars(part) if not n.startswith("_"))}
            raise PathNotFoundError(
                f"{whole!r}: {part!r} has neither an attribute nor a submodule {name!r}, only "
                f"{show_names(names)}.{did_you_mean(name, names)}"
            )
        part = found
    return part


def _direct(part: Any) -> list[Any]:
    values = tf.nest.flatten(list(vars(part).values()))
    return [value for value in values if isinstance(value, tf.Module)]
