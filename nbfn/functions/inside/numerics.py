"""`numerics`: finds the operations of a call that gave NaN or infinity, with their inputs."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow as tf

from nbfn import _tensorflow
from nbfn.functions.inside.extent import health_of, is_float
from nbfn.functions.inside.failure import reason_of
from nbfn.functions.inside.instrument import Instrument
from nbfn.functions.inside.numerics_checker import Finding, NumericsChecker
from nbfn.functions.recording.recorded import Recorded
from nbfn.text import count, join, with_notes


@dataclass(frozen=True)
class Numerics:
    """The result of `numerics`.

    Attributes:
        function: The function's name.
        findings: The operations that gave NaN or infinity from finite numbers, in the order in
            which they ran. Later consequences are left out.
        operations: Number of operations that were checked.
        notes: What could not be checked, and other remarks.
    """

    function: str
    findings: tuple[Finding, ...]
    operations: int
    notes: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether nothing was found."""
        return not self.findings

    def __bool__(self) -> bool:
        return self.ok

    @property
    def title(self) -> str:
        """The findings in a sentence."""
        looked = f"{count(self.operations, 'operation')} looked at"
        if self.ok:
            return f"`{self.function}` gives finite numbers everywhere ({looked})"
        number = count(len(self.findings), "operation")
        found = join(list(dict.fromkeys(_KINDS[each.kind] for each in self.findings)))
        return f"`{self.function}`: {found} in {number} ({looked})"

    def __repr__(self) -> str:
        return with_notes(self.title, self.findings, self.notes)


_KINDS = {
    "nan": "NaN",
    "inf": "infinity",
    "given": "data that is not finite",
}


def numerics(function: Recorded, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Numerics:
    """Runs a function with a check of every operation, and returns those that go wrong.

    Raises:
        CheckError: If the arguments do not fit the function.
        CannotLookInsideError: If this TensorFlow does not report which operations are made.
    """
    checker = NumericsChecker(numerics.__code__)
    instrument = Instrument(checker)
    with instrument.trial(function, args, kwargs) as trial:
        concrete = trial.traced(instrument.function(function))
        error = trial.serve(concrete)
    notes = [*_given(function, args, kwargs), *_notes(function, instrument, concrete, error)]
    return Numerics(function.label, tuple(checker.findings), checker.operations, tuple(notes))


def _given(function: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Iterator[str]:
    """Yields notes on arguments that already contain NaN or infinity."""
    arguments = inspect.signature(function.python_function).bind(*args, **kwargs).arguments
    for name, value in arguments.items():
        leaves = [each for each in tf.nest.flatten(value) if hasattr(each, "dtype")]
        for leaf in leaves:
            array = np.asarray(leaf) if tf.as_dtype(leaf.dtype).is_numpy_compatible else None
            if array is not None and is_float(array):
                health = health_of(array)
                if any(health):
                    yield f"the argument `{name}` has {count(sum(health), 'non-finite value')}"


def _notes(
    function: Any, instrument: Instrument, concrete: Any, error: Exception | None
) -> Iterator[str]:
    if error is not None:
        yield f"the call raised {type(error).__name__} ({reason_of(error)}), and ended there"
    if function._jit_compile:
        yield (
            "it ran without XLA, whose operations cannot be observed; compiled code may round "
            "differently"
        )
    for name in instrument.hidden_in(concrete.graph):
        yield f"`{name}` was traced before, and nbfn could not trace it again to look into it"
    random = _tensorflow.stateful_random_operations(concrete.graph)
    if random:
        yield (
            f"it draws from the hidden state of tf.random ({', '.join(random)}): another call "
            "draws other numbers"
        )
    resources = _tensorflow.changing_resource_operations(concrete.graph)
    resources += _tensorflow.operations_outside(concrete.graph)
    if resources:
        yield (
            "it changes what cannot be restored, and the next call changes it again "
            f"({', '.join(resources)})"
        )
