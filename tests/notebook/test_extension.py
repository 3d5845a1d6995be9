"""Loading and unloading nbfn leaves one of each hook, and none."""

from __future__ import annotations

import ast
import subprocess
import sys

import comm
import pytest
import tensorflow as tf

from nbfn.notebook.channel import TARGET
from nbfn.notebook.displays import Displays
from nbfn.notebook.hooks import Hooks
from nbfn.site import current_cell


def hooks(shell) -> int:
    callbacks = [*shell.events.callbacks["pre_run_cell"], *shell.events.callbacks["post_run_cell"]]
    return sum("nbfn" in getattr(each, "__module__", "") for each in callbacks)


def test_unloading_takes_everything_back(shell) -> None:
    shell.run_cell("%unload_ext nbfn").raise_error()
    assert hooks(shell) == 0
    assert TARGET not in comm.get_comm_manager().targets
    assert shell.find_cell_magic("tf_function") is None
    shell.run_cell("%load_ext nbfn").raise_error()
    assert hooks(shell) == 4


def test_unloading_leaves_no_cell_running(shell) -> None:
    shell.run_cell("%unload_ext nbfn").raise_error()
    assert current_cell() is None
    shell.run_cell("%load_ext nbfn").raise_error()
    assert current_cell() is None


def test_help_shows_the_options(shell) -> None:
    text = shell.find_cell_magic("tf_function").__doc__
    assert "--max-traces" in text
    assert "name of what the cell becomes" in text


def test_an_interrupted_import_is_tried_again(shell, monkeypatch) -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    hooks, found = Hooks(shell, Displays(shell)), []
    monkeypatch.setattr("nbfn.functions.watching.watch.discover", lambda: found.append(1))
    with monkeypatch.context() as patched:
        patched.setattr("nbfn.notebook.hooks.keeping_random_state", interrupted)
        with pytest.raises(KeyboardInterrupt):
            hooks._discover()
    hooks._discover()
    hooks._discover()
    assert found == [1]


def test_autoreload_and_reloading_leave_one_of_each(shell) -> None:
    shell.run_cell("%load_ext autoreload\n%autoreload 2").raise_error()
    for _ in range(3):
        shell.run_cell("%reload_ext nbfn").raise_error()
        shell.run_cell("import nbfn.notebook.magics.cell_magics").raise_error()
    assert hooks(shell) == 4
    assert TARGET in comm.get_comm_manager().targets
    assert len(shell.Completer.custom_matchers) == 1
    assert shell.custom_exceptions == (Exception, KeyboardInterrupt)
    shell.run_cell("%autoreload 0").raise_error()


def test_a_cell_transformer_of_the_user_is_respected(shell, run) -> None:
    class Doubled(ast.NodeTransformer):
        def visit_Constant(self, node: ast.Constant) -> ast.AST:
            number = type(node.value) is int
            return ast.copy_location(ast.Constant(node.value * 2), node) if number else node

    doubled = Doubled()
    run("x = tf.constant(1)")
    shell.ast_transformers.append(doubled)
    try:
        assert run("%%tf_function\n\ny = x * 3\nz = (\n  y + 1)\nz").result.numpy() == 8
        run("%%tf_function\ndef f(x):\n    return x * 3")
        assert run("f(x)").result.numpy() == 6
        # Since TensorFlow 2.22 the second one.
        with pytest.raises((tf.errors.InvalidArgumentError, ValueError), match="line 4"):
            run("%%tf_function\n\ny = x\nz = x @ x")
    finally:
        shell.ast_transformers.remove(doubled)


CELL = "%%tf_function step\ny = x * 2\ny"


def process(*arguments: str, typed: str | None = None) -> str:
    return subprocess.run(
        [sys.executable, *arguments],
        input=typed,
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    ).stdout


LAZY = (
    "import sys; print('early', 'nbfn' in sys.modules)",
    "import tensorflow as tf; x = tf.constant(2)",
    f"print(get_ipython().run_cell({CELL!r}).result)",
    "get_ipython().run_line_magic('tf_traces', 'step')",
)
PLAIN = (
    "@tf.function\ndef plain(x): return x + 1",
    "plain(tf.ones([2])); y = plain(tf.ones([3]))",
    "from nbfn.functions import live_functions",
    "seen, = (each for each in live_functions() if each.label == 'plain')",
    "print(seen.label, len(seen.traces), seen.retraces[0].causes[0])",
    "%unload_ext nbfn",
    "plain(tf.ones([4]))\nprint(len(seen.traces), type(plain).__name__)",
)


def test_a_terminal_with_lazy_magics_sees_each_plain_tf_function(tmp_path) -> None:
    plain = [f"get_ipython().run_cell({cell!r})" for cell in PLAIN]
    (tmp_path / "cell.ipy").write_text("\n".join([*LAZY, *plain]))
    lazy = "--MagicsManager.lazy_magics={'tf_function': 'nbfn'}"
    options = ["--quick", "--colors=NoColor", "--no-banner", "--HistoryManager.enabled=False"]
    text = process("-m", "IPython", *options, lazy, str(tmp_path / "cell.ipy"))
    assert "early False" in text
    assert "tf.Tensor(4, shape=(), dtype=int32)" in text
    assert text.count("1  x: int32[]") == 2
    assert text.splitlines()[-2:] == ["plain 2 `x`: shape was [2], is [3]", "2 Function"]


EMBEDDED = """
import sys, nbfn, tensorflow as tf
def work():
    w = tf.Variable([1.0])
    @nbfn.function
    def local(x):
        return x * w
    local(tf.ones([2]))
    print("notebook", "nbfn.notebook" in sys.modules)
    import IPython
    IPython.embed(colors="NoColor")
    print("then", local.calls)
work()
"""
TYPED = """%load_ext nbfn
print(list(nbfn.session().functions), list(nbfn.session().variables))
return
local.check(tf.ones([2]))
exit
"""


def test_a_script_needs_no_notebook_and_a_shell_in_a_function_has_its_names(tmp_path) -> None:
    (tmp_path / "embedded.py").write_text(EMBEDDED)
    text = process(str(tmp_path / "embedded.py"), typed=TYPED)
    assert text.startswith("notebook False\n")
    assert "['local'] ['w']" in text
    assert "`local` does the same eagerly and traced" in text
    assert "'return' outside function" in text
    assert "Error in callback" not in text
    assert text.rstrip().endswith("then 1")
