"""An exported model serves those who know nothing of nbfn: the command line, C, TFLite, Python."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import nbfn
from tests.programs.environments import ROOT

QUIET = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "-1"}
X = np.arange(6, dtype=np.float32).reshape(2, 3) / 7


@dataclass(frozen=True)
class Exported:
    """A model, and the notebook that it came from."""

    path: Path
    notebook: dict[str, Any]


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Exported]:
    """A layer with variables, a table from a file, and a counter that changes, in one model."""
    folder = tmp_path_factory.mktemp("consumers")
    prices = folder / "prices.txt"
    prices.write_text("10 1.5\n20 2.25\n")
    table = tf.lookup.StaticHashTable(
        tf.lookup.TextFileInitializer(
            str(prices), tf.int64, 0, tf.float32, 1, vocab_size=2, delimiter=" "
        ),
        -1.0,
    )
    weight = tf.Variable(tf.random.stateless_normal([3, 2], seed=[1, 2]), name="weight")
    bias, calls = tf.Variable([0.5, -0.5], name="bias"), tf.Variable(0.0, name="calls")

    @nbfn.function(input_signature=[tf.TensorSpec([None, 3])])
    def predict(x):
        return {"scores": tf.nn.softmax(x @ weight + bias)}

    @nbfn.function(input_signature=[tf.TensorSpec([None], tf.int64)])
    def price(ids):
        return table.lookup(ids)

    @nbfn.function(input_signature=[tf.TensorSpec([])])
    def tally(by):
        return calls.assign_add(by)

    main = ModuleType("__main__")
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "__main__", main)
        names = {"predict": predict, "price": price, "tally": tally, "table": table}
        main.__dict__.update(names | {"weight": weight, "bias": bias, "calls": calls})
        nbfn.export(folder / "model", verify=False)
        prices.unlink()  # the model has its own
        yield Exported(folder / "model", main.__dict__)


def scores(exported: Exported) -> np.ndarray:
    return exported.notebook["predict"](tf.constant(X))["scores"].numpy()


def run(*command: object, text: str = "") -> str:
    done = subprocess.run(
        [str(part) for part in command], env=QUIET, input=text, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def cli(*arguments: object) -> str:
    return run(Path(sys.executable).with_name("saved_model_cli"), *arguments)


@pytest.fixture(scope="module")
def shown(exported: Exported) -> str:
    return cli("show", "--dir", exported.path, "--tag_set", "serve", "--all")


def tensors(shown: str, signature: str) -> tuple[str, str]:
    """The names of the tensors of a signature with one input and one output."""
    (part,) = re.findall(rf"signature_def\['{signature}'\](.*?)Method name is", shown, re.DOTALL)
    one, other = re.findall(r"name: (\S+)", part)
    return one, other


# saved_model_cli ---------------------------------------------------------------------------


def test_the_command_line_shows_it(shown: str) -> None:
    found = set(re.findall(r"signature_def\['(\w+)'\]", shown))
    assert found - {"__saved_model_init_op"} == {"predict", "price", "tally"}
    predict = shown.partition("signature_def['predict']")[2]
    assert re.search(r"inputs\['x'\] tensor_info:\s+dtype: DT_FLOAT\s+shape: \(-1, 3\)", predict)
    assert re.search(
        r"outputs\['scores'\] tensor_info:\s+dtype: DT_FLOAT\s+shape: \(-1, 2\)", predict
    )
    assert "Function Name: 'predict'" in shown


def test_the_command_line_runs_it(exported: Exported, tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", X)
    options = ("--dir", exported.path, "--tag_set", "serve", "--signature_def", "predict")
    cli("run", *options, "--inputs", f"x={tmp_path / 'x.npy'}", "--outdir", tmp_path)
    np.testing.assert_allclose(np.load(tmp_path / "scores.npy"), scores(exported), rtol=1e-6)


# TensorFlow's C library --------------------------------------------------------------------


@pytest.fixture(scope="module")
def consumer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The C program, with the library and headers of TensorFlow's own wheel."""
    tensorflow = Path(tf.__file__).parent
    libraries = ("libtensorflow_cc.so.2", "libtensorflow_framework.so.2")
    if shutil.which("gcc") is None or not all((tensorflow / name).exists() for name in libraries):
        pytest.skip("it takes gcc, and a wheel of TensorFlow for Linux")
    program = tmp_path_factory.mktemp("c") / "consumer"
    source = ROOT / "tests" / "programs" / "consumer.c"
    linked = [f"-L{tensorflow}", *(f"-l:{name}" for name in libraries), f"-Wl,-rpath,{tensorflow}"]
    warnings = ("-Wall", "-Wextra", "-Werror", f"-isystem{tensorflow / 'include'}")
    run("gcc", *warnings, source, "-o", program, *linked)
    return program


def called_from_c(
    consumer: Path, exported: Exported, shown: str, signature: str, values: np.ndarray
) -> list[float]:
    rows, columns = (*values.shape, 0)[:2]
    text = " ".join(str(value) for value in values.flat)
    names = tensors(shown, signature)
    found = run(consumer, exported.path, values.dtype, *names, rows, columns, text=text)
    return [float(line) for line in found.split()]


def test_a_c_program_looks_up_in_the_models_table(consumer, exported, shown) -> None:
    found = called_from_c(consumer, exported, shown, "price", np.array([20, 10, 30]))
    assert found == [2.25, 1.5, -1.0]


# TFLite ------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:.*tf.lite.Interpreter is deprecated")
def test_a_stateless_signature_agrees_in_tflite(exported: Exported) -> None:
    converter = tf.lite.TFLiteConverter.from_saved_model(
        str(exported.path), signature_keys=["predict"]
    )
    interpreter = tf.lite.Interpreter(model_content=converter.convert())
    assert list(interpreter.get_signature_list()) == ["predict"]
    found = interpreter.get_signature_runner("predict")(x=X)
    np.testing.assert_allclose(found["scores"], scores(exported), rtol=1e-5)


# Python without nbfn -----------------------------------------------------------------------

WITHOUT = """
import sys
sys.modules["nbfn"] = None  # as if it were not installed
import numpy as np, tensorflow as tf

model = tf.saved_model.load(sys.argv[1])
x = tf.constant(np.load(sys.argv[2]))
np.save(sys.argv[3], model.signatures["predict"](x=x)["scores"])
np.testing.assert_array_equal(model.predict(x)["scores"], np.load(sys.argv[3]))
print(model.price(tf.constant([10, 7], tf.int64)).numpy().tolist())
print([float(model.tally(tf.constant(2.0))) for _ in range(3)])
print([name for name in sys.modules if name.startswith("nbfn.")])
"""


def test_plain_tensorflow_loads_it_where_nbfn_is_not(exported: Exported, tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", X)
    found = tmp_path / "scores.npy"
    said = run(sys.executable, "-c", WITHOUT, exported.path, tmp_path / "x.npy", found)
    assert said.splitlines() == ["[1.5, -1.0]", "[2.0, 4.0, 6.0]", "[]"]
    np.testing.assert_allclose(np.load(found), scores(exported), rtol=1e-6)
