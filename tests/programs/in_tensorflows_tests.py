"""Runs TensorFlow's own tests for tf.function with `nbfn.function` in its place.

The files are not in TensorFlow's wheel: fetch them from its repository, at the tag of the installed
version. ``make tf-tests TF_TESTS=<folder>`` runs each file of the folder in a process of its own,
first with plain TensorFlow and then with nbfn, and says which tests pass with the first only.
"""

from __future__ import annotations

import functools
import os
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from tempfile import TemporaryDirectory

FILES = (
    "polymorphic_function_test.py",
    "argument_naming_test.py",
    "gradients_test.py",
    "concrete_function_test.py",
    "collection_test.py",
    "load_test.py",
    "op_callbacks_test.py",
    "while_v2_test.py",
    "cond_v2_test.py",
)

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
    "testMultipleWhileLoopsWithVarsDeps": ORDERED,
    "testFuncCondWithVariable": ORDERED,
    "testFuncCondFuncWithVariable": ORDERED,
}
"""Tests that pass with plain TensorFlow only, and why."""
_ONCE_EACH = ("ReloadOncePy", "ReloadTwicePy", "ReloadThricePy")
EXPECTED |= {f"test_functions_accessed_once_{each}": GUARDED for each in _ONCE_EACH}


def pytest_configure() -> None:
    """As a pytest plugin: puts nbfn in TensorFlow's place."""
    import tensorflow as tf

    tf.compat.v1.enable_v2_behavior()
    if os.environ.get("NBFN_IN_PLACE"):
        from tensorflow.python.eager import def_function
        from tensorflow.python.eager.polymorphic_function import polymorphic_function

        import nbfn

        polymorphic_function.function = def_function.function = nbfn.function


def outcomes(file: Path, with_nbfn: bool) -> dict[str, bool]:
    """Runs a file; whether each of its tests passed."""
    with TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        subprocess.run(
            [
                *(
                    sys.executable,
                    "-m",
                    "pytest",
                    "-q",
                    "-p",
                    "tests.programs.in_tensorflows_tests",
                ),
                *("-p", "no:cacheprovider", "-c", os.devnull, "--rootdir", str(file.parent)),
                *(f"--junitxml={report}", str(file)),
            ],
            env={**os.environ, "NBFN_IN_PLACE": "1" if with_nbfn else ""},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=False,
        )
        found = {}
        for case in ElementTree.parse(report).iter("testcase"):
            kinds = {child.tag for child in case}
            if "skipped" not in kinds:
                found[str(case.get("name"))] = not kinds & {"failure", "error"}
        return found


say = functools.partial(print, flush=True)


def main(folder: Path) -> int:
    """Compares the outcomes of every file; the exit status."""
    unexpected = 0
    for name in FILES:
        if not (folder / name).exists():
            say(f"{name}: not in {folder}")
            continue
        plain, ours = (outcomes(folder / name, with_nbfn) for with_nbfn in (False, True))
        lost = [test for test, passed in plain.items() if passed and not ours.get(test)]
        say(f"{name}: {sum(plain.values())} pass with tf.function, {sum(ours.values())} with nbfn")
        for test in lost:
            reason = EXPECTED.get(test)
            unexpected += reason is None
            say(f"  {test}: {reason or 'UNEXPECTED'}")
    return 1 if unexpected else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
