"""Cells as people write them do under `%%tf_function` what they do without it."""

from __future__ import annotations

import importlib.util
import os

import pytest

from tests.functions.segments.comparing.sides_of_cells import (
    differences,
    graphs_pay,
    run_story,
)
from tests.functions.segments.corpus import STORIES
from tests.functions.segments.corpus.story import Story

LINE = os.environ.get("NBFN_LINE", "%%tf_function step")
"""What stands above the cells; `%%tf_eager` shows that the stories themselves are repeatable."""


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.name)
def test_as_people_write(story: Story) -> None:
    for package in story.packages:
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"there is no {package} here")
    with graphs_pay():
        assert differences(run_story(story, ""), run_story(story, LINE)) == []


def test_each_story_has_a_name_of_its_own() -> None:
    assert len({story.name for story in STORIES}) == len(STORIES)


SETUP = """
x = tf.constant([1.0, 2.0]); v = tf.Variable(1.0); items = [x]
layer = tf.keras.layers.Dropout(0.5)
class Box:
    def __init__(self):
        self.inside = {"a": 1}
box = Box()
def count(k=[0]):
    k[0] += 1
"""


@pytest.mark.parametrize(
    ("cell", "other", "noticed"),
    [
        ("y = x * 2", "y = x * 2.001", "y: tensorflow.EagerTensor float32[2] array([2., 4.]"),
        ("y = x * 2", "y = (x * 2).numpy()", "numpy.ndarray float32[2]"),
        ("y = x * 2", "y = tf.Variable(x * 2)", "tensorflow.ResourceVariable"),
        ("y = x * 2", "z = x * 2", "y: tensorflow.EagerTensor"),
        ("y = 2", "y = 2.0", "y: int 2 plain, float 2.0 traced"),
        ("y = 1", "y = True", "y: int 1 plain, bool True traced"),
        ("y = 1", "y = np.int64(1)", "y: int 1 plain, numpy.int64"),
        ("y = 1.0", "y = tf.constant(1.0)", "y: float 1.0 plain, tensorflow.EagerTensor"),
        ("y = (x, 1)", "y = [x, 1]", "y: tuple"),
        ("y = {'a': 1, 'b': 2}", "y = {'b': 2, 'a': 1}", "another order"),
        ("y = x", "y = tf.identity(x)", "y: the object 'items[0]' plain"),
        ("y = [x + 1]; z = y[0]", "y = [x + 1]; z = x + 1", "z: the object 'y[0]' plain"),
        ("y = x * 2\ny", "y = x * 2\nv", "the result: the object 'y' plain, the object 'v' traced"),
        ("x * 2", "x * 3", "stdout: 'Out[3]:"),
        ("x", "x;", "the result"),
        ("print(1)", "print(2)", "stdout: '1\\n' plain, '2\\n' traced"),
        ("print(f'{x[0]:.3f}')", "print(f'{x[0] + 0.01:.3f}')", "stdout: '1.000\\n' plain"),
        ("tf.print(x)", "x", "stderr: '[1 2]\\n' plain"),
        ("import sys; print(1, file=sys.stderr)", "1", "stderr"),
        ("import warnings; warnings.warn('no')", "1", "stderr"),
        ("display(x)", "display(x * 2)", "displayed"),
        ("display(x)", "x", "displayed"),
        ("v.assign_add(1.0);", "v.assign_add(2.0);", "v.value: numpy.ndarray float32[]"),
        ("items.append(x)", "items.append(tf.identity(x))", "items[1]"),
        ("items.append(x)", "items = items + [x]; extra = items", "extra"),
        ("box.inside['b'] = x", "box.inside['c'] = x", "box.inside['b']"),
        ("Box.kind = 1", "Box.kind = 2", "Box.kind: int 1 plain"),
        ("layer.rate = 0.1", "layer.rate = 0.2", "layer.rate: float 0.1 plain"),
        ("layer.trainable = False", "layer", "layer.trainable: bool False plain"),
        ("count()", "count.__name__", "count.__defaults__[0][0]"),
        ("f = lambda k=x: k", "f = lambda k=1: k", "f.__defaults__"),
        ("tf.random.normal(())", "tf.zeros(())", "the next random numbers"),
        ("np.random.rand();", "1;", "the next random numbers"),
        ("1 / 0", "x / 0", "error: ZeroDivisionError in line 1: division by zero plain, None"),
        ("1 / 0", "pass\n1 / 0", "in line 2"),
        ("raise ValueError('a')", "raise ValueError('b')", "error: ValueError in line 1: a plain"),
        ("raise ValueError('a')", "raise TypeError('a')", "TypeError in line 1: a traced"),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_a_difference_is_noticed(cell: str, other: str, noticed: str) -> None:
    found = differences(*(run_story(Story("", SETUP, text), "", 1) for text in (cell, other)))
    assert noticed in "\n".join(found)


@pytest.mark.filterwarnings("ignore")
def test_what_nbfn_says_of_itself_is_no_difference() -> None:
    story = Story("", SETUP, "y = x * 2\ny")
    assert differences(run_story(story, ""), run_story(story, "%%tf_function step")) == []
