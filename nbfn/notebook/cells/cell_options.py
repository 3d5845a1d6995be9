"""The options on the line of ``%%tf_function``."""

from __future__ import annotations

import inspect
from argparse import Namespace
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from IPython.core.error import UsageError

from nbfn.notebook.cells.signature_text import signature_of


@dataclass(frozen=True)
class CellOptions:
    """The parsed line of ``%%tf_function``.

    Attributes:
        function: The given options of ``nbfn.function``.
        signature: The text of the input signature.
        inputs: The arguments of a body; None to choose them automatically.
        outputs: The names that a body leaves; None for all.
        device: The device on which a body runs.
        stance: The stance of a body, and of calls of the functions.
        is_whole: Whether a body must be one graph.
        checks: Whether each new trace of a body is first compared with an eager run.
    """

    function: tuple[tuple[str, Any], ...] = ()
    signature: str | None = None
    inputs: tuple[str, ...] | None = None
    outputs: tuple[str, ...] | None = None
    device: str | None = None
    stance: str | None = None
    is_whole: bool = False
    checks: bool = False

    @classmethod
    def of(cls, arguments: Namespace) -> CellOptions:
        """Builds the options from a parsed line.

        Raises:
            UsageError: If a number is out of range.
        """
        if arguments.max_traces is not None and arguments.max_traces < 1:
            raise UsageError(f"--max-traces is {arguments.max_traces}, expected at least 1")
        chosen = {
            "jit_compile": arguments.jit or None,
            "autograph": False if arguments.no_autograph else None,
            "reduce_retracing": arguments.relax or None,
            "max_traces": arguments.max_traces,
            "on_limit": arguments.on_limit,
            "on_stale": arguments.on_stale,
            "local_state": arguments.local_state or None,
        }
        return cls(
            tuple((name, value) for name, value in chosen.items() if value is not None),
            unquoted(arguments.signature),
            _names(arguments.inputs),
            _names(arguments.outputs),
            unquoted(arguments.device),
            arguments.stance,
            _is_whole(arguments),
            arguments.check,
        )

    @property
    def lasting(self) -> Any:
        """The options that belong to a function rather than to one run."""
        return self.function, self.signature

    @property
    def has_local_state(self) -> bool:
        """Whether variables live for one call only."""
        return ("local_state", True) in self.function

    def for_function(self, python_function: Callable[..., Any], namespace: Any) -> dict[str, Any]:
        """Returns the keyword arguments of ``nbfn.function`` for one function.

        Raises:
            UsageError: If the signature does not fit the function.
        """
        options = dict(self.function)
        if self.signature is not None:
            parameters = list(inspect.signature(python_function).parameters)
            options["input_signature"] = signature_of(self.signature, parameters, namespace)
        return options

    def device_scope(self) -> str | None:
        """Returns the device on which a body runs.

        Raises:
            UsageError: If there is no such device.
        """
        if self.device is None:
            return None
        import tensorflow as tf

        names = [device.name for device in tf.config.list_logical_devices()]
        try:
            wanted = tf.DeviceSpec.from_string(self.device)
        except ValueError:
            wanted = None
        there = map(tf.DeviceSpec.from_string, names)
        # A partial specification means each device that it does not change.
        if wanted is None or not any(each.make_merged_spec(wanted) == each for each in there):
            short = ", ".join(":".join(name.split(":")[-2:]) for name in names)
            raise UsageError(f"--device: there is no `{self.device}`; there is {short}")
        return self.device

    def refuse_for_definitions(self) -> None:
        """Refuses options that apply to bodies only."""
        for option, value, advice in (
            ("--inputs", self.inputs, "the inputs of a function are its parameters"),
            ("--outputs", self.outputs, "the outputs of a function are what it returns"),
            ("--device", self.device, "write `with tf.device(…):` in the function"),
        ):
            if value is not None:
                raise UsageError(
                    f"{option} does not apply to a cell that only defines functions; {advice}"
                )

    def chosen_outputs(self, writes: Sequence[str]) -> Sequence[str]:
        """Returns the names that a body leaves, of those that it assigns.

        Raises:
            UsageError: If the cell does not assign a requested name.
        """
        for name in self.outputs or ():
            if name not in writes:
                raise UsageError(f"--outputs: the cell does not assign `{name}`")
        return writes if self.outputs is None else self.outputs


def _is_whole(arguments: Namespace) -> bool:
    implied = (arguments.inputs, arguments.outputs, arguments.signature)
    return (
        arguments.whole
        or arguments.define
        or arguments.local_state
        or any(each is not None for each in implied)
    )


def _names(text: str | None) -> tuple[str, ...] | None:
    if text is None:
        return None
    names = tuple(name.strip() for name in unquoted(text).split(",") if name.strip())  # type: ignore[union-attr]
    for name in names:
        if not name.isidentifier():
            raise UsageError(f"`{name}` is not a name")
    return names


def unquoted(text: str | None) -> str | None:
    """Removes quotes from an argument, which IPython's parser keeps."""
    if text is not None and len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        return text[1:-1]
    return text
