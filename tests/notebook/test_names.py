"""What is called the same in the notebook is distinguished in every view."""

from __future__ import annotations

import gc

from nbfn.outlines.session_outline import session_outline
from nbfn.sessions.messages.feed import feed
from nbfn.sessions.session import Session


def test_functions_of_one_name_are_called_as_the_notebook_calls_them(alone, shell) -> None:
    def listed() -> dict[str, str]:
        feed().flush()
        rows = feed().snapshot().state.functions
        return {id: row.name for id, row in rows.items() if id in made}

    shell.run_cell("%load_ext nbfn\nimport nbfn\nkept = []", store_history=True)
    code = "@nbfn.function\ndef twice_named(x):\n    return x + {n}\nkept.append(twice_named)"
    for n in range(2):
        shell.run_cell(code.format(n=n), store_history=True).raise_error()
    first, second = shell.user_ns["kept"]
    made = {first.id, second.id}
    before = shell.execution_count - 2
    assert listed() == {first.id: f"twice_named (In [{before}])", second.id: "twice_named"}
    shell.run_cell("another = kept[0]", store_history=True)
    assert listed() == {first.id: "another", second.id: "twice_named"}
    text = session_outline(Session(shell.user_ns).shown).text()
    assert "another(x)" in text
    assert "twice_named(x)" in text
    shell.run_cell("del kept[1], twice_named", store_history=True)
    del second
    gc.collect()
    shell.run_cell("0", store_history=True)
    assert listed() == {first.id: "twice_named"}


def test_a_capture_that_no_name_leads_to_is_distinguished_from_its_namesake(alone, shell) -> None:
    shell.run_cell("%load_ext nbfn\nimport nbfn, tensorflow as tf", store_history=True)
    shell.run_cell(
        "def maker():\n"
        "    namesake = tf.Variable(1.0)\n"
        "    return nbfn.function(lambda x: x * namesake)\n"
        "made = maker()\n"
        "made(1.0)\n"
        "namesake = tf.Variable([2.0])",
        store_history=True,
    ).raise_error()

    def names() -> set[str]:
        feed().flush()
        rows = feed().snapshot().state.variables.values()
        return {row.name for row in rows if "namesake" in row.name}

    assert names() == {"namesake", "made.captures/namesake"}
    assert "made.captures/namesake" in session_outline(Session(shell.user_ns).shown).text()
    shell.run_cell("del namesake", store_history=True)
    assert names() == {"namesake"}


def test_a_variable_made_again_in_a_cell_is_no_namesake_of_the_one_before(alone, shell) -> None:
    shell.run_cell("%load_ext nbfn\nimport nbfn, tensorflow as tf", store_history=True)
    shell.run_cell("namesake = tf.Variable(1.0)", store_history=True)
    shell.run_cell(
        "from nbfn.sessions.messages.feed import feed\n"
        "namesake = tf.Variable([2.0])\n"
        "made = nbfn.function(lambda x: x * namesake)\n"
        "made(1.0)\n"
        "feed().flush()\n"
        "rows = feed().snapshot().state.variables\n"
        "name = rows[made.traces[-1].captures[0].id].name",
        store_history=True,
    ).raise_error()
    assert shell.user_ns["name"] == "namesake"


def test_remedies_call_functions_of_libraries_by_names_of_the_notebook(run) -> None:
    run(
        "import keras, nbfn\ndense = keras.layers.Dense(1)\ndense.build([None, 2])\n"
        "one, other = nbfn.function(dense.call), nbfn.function(keras.ops.sum)\n"
        "unnamed = [nbfn.function(keras.ops.sum)]\n"
        "_ = [f(tf.ones([n, 2])) for f in (one, other, *unnamed) for n in (1, 2)]"
    )
    code = "[f.retraces[-1].remedy.code for f in ({})]"
    run("one.relax()\nother.relax()")
    assert run(code.format("one, other, *unnamed")).result == ["one.relax()", "other.relax()", None]
