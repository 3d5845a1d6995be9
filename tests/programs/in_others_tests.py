"""Runs the tests of TensorFlow, Keras, GPflow and TensorFlow Probability with nbfn's `function`.

``python -m tests.programs.in_others_tests tensorflow=<folder> keras gpflow=<folder>`` runs each
file of `SUITES` in a process of its own, first with ``tf.function`` and then with
``nbfn.function`` in its place. It prints how many tests pass and how long they take with both, and
which pass with the first only. Keras's tests are in its wheel. Those of the others are in their
repositories: the folder is a checkout, at the tag of the installed version, or holds the files.
"""

from __future__ import annotations

import functools
import importlib.util
import os
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import nbfn

SUITES: Mapping[str, tuple[str, ...]] = {
    "tensorflow": (
        "eager/polymorphic_function/polymorphic_function_test.py",
        "eager/polymorphic_function/argument_naming_test.py",
        "eager/polymorphic_function/gradients_test.py",
        "eager/polymorphic_function/concrete_function_test.py",
        "eager/polymorphic_function/collection_test.py",
        "eager/backprop_test.py",
        "eager/wrap_function_test.py",
        "saved_model/load_test.py",
        "saved_model/save_test.py",
        "framework/op_callbacks_test.py",
        "framework/auto_control_deps_test.py",
        "framework/extension_type_test.py",
        "framework/function_test.py",
        "kernel_tests/control_flow/while_v2_test.py",
        "kernel_tests/control_flow/cond_v2_test.py",
        "kernel_tests/control_flow/map_fn_test.py",
        "kernel_tests/control_flow/scan_ops_test.py",
        "kernel_tests/control_flow/py_func_test.py",
        "kernel_tests/control_flow/functional_ops_test.py",
        "data/kernel_tests/dataset_test.py",
        "data/kernel_tests/from_generator_test.py",
        "data/kernel_tests/iterator_test.py",
    ),
    "keras": (
        "trainers/trainer_test.py",
        "models/model_test.py",
        "models/functional_test.py",
        "models/sequential_test.py",
        "layers/core/dense_test.py",
        "layers/core/lambda_layer_test.py",
        "layers/rnn/lstm_test.py",
        "layers/rnn/rnn_test.py",
        "layers/normalization/batch_normalization_test.py",
        "layers/regularization/dropout_test.py",
        "export/saved_model_test.py",
        "export/tfsm_layer_test.py",
        "saving/saving_lib_test.py",
    ),
    "gpflow": (
        "gpflow/test_base_training.py",
        "gpflow/test_monitor.py",
        "gpflow/models/test_gpr.py",
        "gpflow/models/test_svgp.py",
        "gpflow/models/test_training_mixins.py",
        "gpflow/optimizers/test_mcmc.py",
        "gpflow/optimizers/test_natural_gradient.py",
        "gpflow/optimizers/test_scipy.py",
        "integration/test_method_equivalence.py",
    ),
    "probability": (
        "math/minimize_test.py",
        "optimizer/bfgs_test.py",
        "optimizer/nelder_mead_test.py",
        "mcmc/transformed_kernel_test.py",
    ),
}
"""The files of each project, by the ends of their paths."""

OWN_WARNING = "nbfn gives its own warning, which names the cause, in place of TensorFlow's"
ORDERED = "it counts control inputs; nbfn has loops and branches that write wait for each other"
GUARDED = "an attribute that the trace has read changes before it is saved, so nbfn traces again"
EXPECTED = {
    "testCacheWithinSaveContext": "saving does not run the user's Python again",
    "test_frequent_retracing_warning": OWN_WARNING,
    "test_frequent_retracing_warning_lambda": OWN_WARNING,
    "test_frequent_retracing_warning_method": OWN_WARNING,
    "test_frequent_retracing_warning_nested": OWN_WARNING,
    "test_frequent_retracing_warning_on_reinstantiation": OWN_WARNING,
    "test_frequent_retracing_warning_two_independent_tf_functions": OWN_WARNING,
    "test_retracing_warning_limits": OWN_WARNING,
    "testNoHash": "the error names the argument that has no hash, and says what to pass",
    "testMultipleWhileLoopsWithVarsDeps": ORDERED,
    "testFuncCondWithVariable": ORDERED,
    "testFuncCondFuncWithVariable": ORDERED,
}
"""Tests that pass with plain TensorFlow only, and why."""
_ONCE_EACH = ("ReloadOncePy", "ReloadTwicePy", "ReloadThricePy")
EXPECTED |= {f"test_functions_accessed_once_{each}": GUARDED for each in _ONCE_EACH}

MAX_SECONDS = 1200
"""A file that takes longer is given up."""


def pytest_configure() -> None:
    """As a pytest plugin: puts nbfn in TensorFlow's place."""
    import tensorflow as tf

    tf.compat.v1.enable_v2_behavior()
    if os.environ.get("NBFN_IN_PLACE"):
        from tensorflow.python.eager import def_function
        from tensorflow.python.eager.polymorphic_function import polymorphic_function

        polymorphic_function.function = def_function.function = tf.function = nbfn.function


@dataclass(frozen=True)
class Outcome:
    """What came of the tests of a file.

    Attributes:
        passed: Whether each test passed, by name; skipped ones are left out.
        seconds: How long they took, without imports and collection.
    """

    passed: dict[str, bool]
    seconds: float

    @property
    def count(self) -> int:
        """How many passed."""
        return sum(self.passed.values())


def outcome(file: Path, checkout: Path, with_nbfn: bool) -> Outcome:
    """Runs a file."""
    with TemporaryDirectory() as folder:
        report, plugin = Path(folder) / "report.xml", Path(folder) / "nbfn_in_place.py"
        plugin.write_bytes(Path(__file__).read_bytes())  # their package may be called `tests`, too
        is_package = (checkout / "tests").is_dir()
        place = checkout if is_package else Path(folder)
        if not is_package:  # beside the sources of a checkout it would import them
            file = place / shutil.copy(file, place)
        paths = (folder, str(Path(nbfn.__file__).parent.parent))
        command = (
            *(sys.executable, "-m", "pytest", "-q", "-p", plugin.stem, "-p", "no:cacheprovider"),
            *("-c", os.devnull, "--rootdir", str(place)),
            *(f"--junitxml={report}", str(file)),
        )
        try:
            subprocess.run(
                command,
                cwd=place,
                env={
                    **os.environ,
                    "NBFN_IN_PLACE": "1" if with_nbfn else "",
                    "PYTHONPATH": os.pathsep.join(paths),
                },
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                check=False,
                timeout=MAX_SECONDS,
            )
        except subprocess.TimeoutExpired:
            return Outcome({}, MAX_SECONDS)
        found: dict[str, bool] = {}
        seconds = 0.0
        for case in ElementTree.parse(report).iter("testcase"):
            kinds = {child.tag for child in case}
            seconds += float(case.get("time", 0))
            if "skipped" not in kinds:
                found[str(case.get("name"))] = not kinds & {"failure", "error"}
        return Outcome(found, seconds)


say = functools.partial(print, flush=True)


def compare(suite: str, folder: Path) -> int:
    """Compares the outcomes of a suite; returns how many tests only pass with ``tf.function``."""
    unexpected = 0
    sums = [0.0, 0.0]
    for name in SUITES[suite]:
        file = next(iter(sorted(folder.rglob(name)) or sorted(folder.rglob(Path(name).name))), None)
        if file is None:
            say(f"{suite} {name}: not in {folder}")
            continue
        plain, ours = (outcome(file, folder, with_nbfn) for with_nbfn in (False, True))
        sums = [sums[0] + plain.seconds, sums[1] + ours.seconds]
        say(
            f"{suite} {name}: {plain.count} pass with tf.function in {plain.seconds:.1f} s, "
            f"{ours.count} with nbfn in {ours.seconds:.1f} s"
        )
        lost = [test for test, passed in plain.passed.items() if passed > ours.passed.get(test, 0)]
        for test in lost:
            reason = EXPECTED.get(test)
            unexpected += reason is None
            say(f"  {test}: {reason or 'UNEXPECTED'}")
    say(f"{suite}: {sums[0]:.1f} s with tf.function, {sums[1]:.1f} s with nbfn")
    return unexpected


def main(*arguments: str) -> int:
    """Compares the suites that are given, each with its folder; the exit status."""
    unexpected = 0
    for argument in arguments:
        suite, _, folder = argument.partition("=")
        if not folder:  # in the wheel
            spec = importlib.util.find_spec(suite)
            assert spec is not None
            assert spec.submodule_search_locations
            folder = spec.submodule_search_locations[0]
        unexpected += compare(suite, Path(folder).resolve())
    return 1 if unexpected else 0


if __name__ == "__main__":
    sys.exit(main(*(sys.argv[1:] or ["keras"])))
