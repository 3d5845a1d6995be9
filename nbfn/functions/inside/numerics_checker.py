"""Checks the values of a graph's operations while it runs."""

from __future__ import annotations

import functools
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import CodeType
from typing import Any

import numpy as np
import tensorflow as tf

from nbfn import _tensorflow
from nbfn.errors import NbfnError
from nbfn.functions.inside.extent import Extent, Health, extent_of, health_of
from nbfn.functions.inside.origin import OperationOrigin, Origins

MAX_FINDINGS = 20
_UNCHECKED = frozenset(
    {
        *("Const", "Placeholder", "PlaceholderWithDefault", "Identity", "IdentityN", "Reshape"),
        *("StopGradient", "PreventGradient", "ExpandDims", "Squeeze", "Shape", "ZerosLike"),
        *("OnesLike", "Fill", "If", "StatelessIf", "While", "StatelessWhile", "Case"),
        *("StatelessCase", "PyFunc", "PyFuncStateless", "NoOp", "Empty", "BroadcastTo", "Pack"),
        *("Unpack", "Transpose", "StridedSlice", "Snapshot", "TensorListGetItem"),
        *("TensorListStack", "TensorListPopBack", "VariableV2"),
    }
)
"""Operations that pass values on, and those whose inner operations are checked instead."""
_CALLS = frozenset({"PartitionedCall", "StatefulPartitionedCall"})


@dataclass(frozen=True)
class Finding:
    """An operation that got good values and gave bad ones.

    Attributes:
        kind: ``"nan"``; ``"inf"``; or ``"given"``: a variable or data has values that are not
            finite.
        origin: The operation, and the user's line.
        value: The first wrong value.
        index: Its position in the result.
        wrong: Number of wrong values.
        output: The result.
        inputs: The inputs of the operation.
        execution: The execution of the operation in which it happened, from 1.
    """

    kind: str
    origin: OperationOrigin
    value: str
    index: tuple[int, ...]
    wrong: int
    output: Extent
    inputs: tuple[Extent, ...]
    execution: int

    @property
    def site(self) -> Any:
        """The user's line."""
        return self.origin.spot.site

    @property
    def result(self) -> str:
        """The bad values as text."""
        size = int(np.prod(self.output.shape, dtype=np.int64))
        place = f" at {list(self.index)}" if self.index else ""
        share = f" ({self.wrong:,} of {size:,} values, the first{place})" if size > 1 else ""
        execution = f", in execution {self.execution:,}" if self.execution > 1 else ""
        return f"{self.value}{share}{execution}"

    @property
    def source(self) -> str:
        """Each operand by the user's name, with the value that caused it."""
        return ", ".join(map(_given, self.inputs))

    def __str__(self) -> str:
        return f"{self.origin.where}: {self.result}{f' from {self.source}' if self.source else ''}"


def _given(extent: Extent) -> str:
    if not extent.name and not extent.shape:
        return extent.at
    name = f"`{extent.name}`" if extent.name else "an operand"
    about = f" ({extent.type}, {extent.range})" if extent.range else f" ({extent.type})"
    if extent.at:
        return f"{extent.at} in {name}{about if extent.shape else ''}"
    return f"{name}{about}"


class NumericsError(NbfnError, ArithmeticError):
    """An operation gave NaN or infinity from finite numbers.

    Attributes:
        finding: The operation, its line and what it was given.
    """

    def __init__(self, finding: Finding) -> None:
        self.finding = finding
        super().__init__(str(finding))


class NumericsChecker:
    """Attaches a check of its values to each operation with floating results.

    Attributes:
        findings: The findings, in the order in which they happened.
        operations: Number of operations that are checked.
    """

    def __init__(
        self,
        until: CodeType,
        on_finding: Callable[[Finding], None] | None = None,
    ) -> None:
        self.findings: list[Finding] = []
        self.operations = 0
        self._origins = Origins(until)
        self._on_finding = on_finding
        self._callbacks = _tensorflow.OrderedCallbacks()
        # The runtime calls back on its own threads.
        self._lock = threading.Lock()
        self._seen: set[int] = set()
        self._executions: Counter[int] = Counter()

    def forget(self) -> None:
        """Discards the findings, so that they are found again."""
        with self._lock:
            self.findings.clear()
            self._seen.clear()
            self._executions.clear()

    def __call__(self, new: _tensorflow.NewOperation) -> Sequence[Any] | None:
        """Called with each operation that is made."""
        origin = self._origins.of(new)
        if new.operation is not None:
            self._callbacks.order(new.operation)
        if new.type in _UNCHECKED or (new.type in _CALLS and not _is_compiled(new)):
            return None
        if any(each.dtype == tf.variant for each in new.inputs):
            return None  # it passes on elements of a list
        outputs = [each for each in new.outputs if _is_floating(each)]
        if not outputs:
            return None
        named = zip(new.inputs, origin.inputs, strict=True)
        floating = [(each, name) for each, name in named if _is_floating(each)]
        inputs = [each for each, _ in floating]
        constant = [new.operation is not None and each.op.type == "Const" for each in inputs]
        names = [name for _, name in floating]
        check = functools.partial(self._check, origin, len(outputs), names, constant)
        self.operations += 1
        if new.operation is None:
            check(*(each.numpy() for each in (*outputs, *inputs)))
            return None
        checked = self._callbacks.add(check, [*outputs, *inputs])
        # What uses the result waits for the check, so the first finding is the first cause.
        with tf.control_dependencies([checked]):
            replacements = [tf.identity(e) if _is_floating(e) else e for e in new.outputs]
        self._origins.replaced(origin, replacements)
        return replacements

    def _check(
        self,
        origin: OperationOrigin,
        number: int,
        names: Sequence[str],
        constant: Sequence[bool],
        *arrays: np.ndarray,
    ) -> Any:
        """Checks an execution; `arrays` are its results and inputs."""
        if origin.name:  # an eager origin dies with its tensors, and its id is used again
            self._executions[id(origin)] += 1
        for array in arrays[:number]:
            health = health_of(array)
            if any(health) and id(origin) not in self._seen:
                # A NaN that the code writes is reported where it is used. An infinite constant is
                # usually a mask, as in `test_nothing_is_found_in_sound_code`.
                health_of_inputs = [
                    Health() if is_constant and np.isnan(each).any() else health_of(each)
                    for each, is_constant in zip(arrays[number:], constant, strict=True)
                ]
                kind = _kind(health, health_of_inputs)
                if kind is not None:
                    self._add_finding(kind, origin, array, names, arrays[number:])
        return False

    def _add_finding(
        self,
        kind: str,
        origin: OperationOrigin,
        output: np.ndarray,
        names: Sequence[str],
        inputs: Sequence[np.ndarray],
    ) -> None:
        wrong = np.isnan(output) if kind == "nan" else ~np.isfinite(output)
        index = tuple(int(i) for i in np.unravel_index(int(np.argmax(wrong)), output.shape))
        finding = Finding(
            kind,
            origin,
            str(output[index]).replace("nan", "NaN"),
            index,
            int(np.count_nonzero(wrong)),
            extent_of("", output),
            tuple(extent_of(name, array, index) for name, array in zip(names, inputs, strict=True)),
            self._executions[id(origin)],
        )
        with self._lock:
            if len(self.findings) < MAX_FINDINGS:
                self._seen.add(id(origin))
                self.findings.append(finding)
        if self._on_finding is not None:
            self._on_finding(finding)


def _is_floating(tensor: Any) -> bool:
    dtype = tensor.dtype
    return bool(dtype.is_floating or dtype.is_complex) and not dtype._is_ref_dtype


def _is_compiled(new: _tensorflow.NewOperation) -> bool:
    """Returns whether a call runs a function compiled by XLA, whose operations are hidden."""
    try:
        return bool(new.operation is not None and new.operation.get_attr("_XlaMustCompile"))
    except ValueError:  # the operation has no such attribute
        return False


def _kind(health: Health, inputs: Sequence[Health]) -> str | None:
    """Returns the kind of a finding; None if the inputs were bad already."""
    if any(each.nan or (each.inf and not health.nan) for each in inputs):
        return None
    if not inputs:
        return "given"
    return "nan" if health.nan else "inf"
