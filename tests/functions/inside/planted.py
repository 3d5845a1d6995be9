"""Functions that each have one bad line, which ends with ``# here``; the others are sound."""

from __future__ import annotations

import inspect
import linecache

import keras
import tensorflow as tf

import nbfn
from nbfn import nn

numbers = tf.constant([1.0, 4.0, 0.0, 2.0])
rows = tf.constant([[1.0, 2.0], [3.0, 4.0], [0.0, 0.0], [5.0, 6.0]])
poisoned = tf.Variable([1.0, float("nan")])
halves = tf.constant([200.0, 400.0], tf.float16)
dense = keras.Sequential([keras.Input((2,)), keras.layers.Dense(3, activation="relu")])


def line_of(function):
    """The line of a function, or of one that it calls, that ends with the mark."""
    code = inspect.unwrap(getattr(function, "python_function", function)).__code__
    lines = linecache.getlines(code.co_filename)
    for number in range(code.co_firstlineno, len(lines) + 1):
        if lines[number - 1].rstrip().endswith("# here"):
            return number
    raise AssertionError(function)


def log_of_relu(x):
    hidden = tf.nn.relu(x - 1.0)
    return tf.reduce_sum(tf.math.log(hidden))  # here


def log_of_negative(x):
    shifted = x - 3.0
    logs = tf.math.log(shifted)  # here
    return tf.nn.relu(logs)


def division(x):
    total = tf.reduce_sum(x)
    return (total - total) / (total - total)  # here


def square_root(x):
    return tf.sqrt(-x) + x  # here


def inverse_sine(x):
    y = tf.asin(x)  # here
    return y * 2.0


def big_exponent(x):
    return tf.reduce_mean(tf.exp(x * 100.0))  # here


def hand_written_softmax(x):
    logits = x * 50.0
    exponents = tf.exp(logits)  # here
    return exponents / tf.reduce_sum(exponents)


def power(x):
    return tf.pow(x - 2.0, 0.5)  # here


def infinity_minus_infinity(x):
    masked = tf.where(x > 0.0, x, float("inf"))
    return masked - masked  # here


def third_turn(x):
    total = x
    for i in tf.range(5):
        total = total + 1.0 / (2.0 - tf.cast(i, tf.float32))  # here
    return total


def while_loop(x):
    i = tf.constant(3.0)
    total = tf.reduce_sum(x)
    while i >= -1.0:
        total += tf.math.log(i)  # here
        i -= 1.0
    return total


def nested_loops(x):
    total = tf.zeros([])
    for i in tf.range(3):
        for j in tf.range(3):
            bottom = tf.cast(i - j + 2, tf.float32)
            total += tf.reduce_sum(x) / bottom  # here
    return total


def one_branch(x):
    y = x
    if tf.reduce_sum(x) > 0.0:
        y = tf.sqrt(x - 5.0)  # here
    return y


def branch_in_loop(x):
    total = x
    for i in tf.range(4):
        total = total + 1.0
        if i == 2:
            total = tf.math.log(-total - 1.0)  # here
    return total


def one_row(x):
    norms = tf.norm(rows, axis=1, keepdims=True)
    return rows / norms + tf.reduce_sum(x)  # here


def one_element_of_map(x):
    return tf.map_fn(lambda each: tf.math.log(each), x)  # here


def vectorized(x):
    return tf.vectorized_map(lambda each: 1.0 / each, x)  # here


def scan(x):
    return tf.scan(lambda a, b: a / (b - 4.0), x)  # here


def gradient_of_sine(x):
    with tf.GradientTape() as tape:
        tape.watch(x)
        shares = x / 4.0
        angles = tf.asin(shares)  # here
        loss = tf.reduce_sum(angles)
    return tape.gradient(loss, x)


def gradient_of_root(x):
    with tf.GradientTape() as tape:
        tape.watch(x)
        roots = tf.sqrt(x)  # here
        loss = tf.reduce_sum(roots)
    return tape.gradient(loss, x)


def gradient_of_norm(x):
    with tf.GradientTape() as tape:
        tape.watch(x)
        lengths = tf.sqrt(tf.reduce_sum((rows * x[2]) ** 2, axis=1))  # here
        loss = tf.reduce_sum(lengths)
    return tape.gradient(loss, x)


def gradient_of_power(x):
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * 2.0
        z = tf.pow(y, 0.5)  # here
        loss = tf.reduce_mean(z) + 1.0
    return tape.gradient(loss, x)


def gradient_in_loop(x):
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x
        for _ in tf.range(2):
            y = tf.sqrt(y)  # here
        loss = tf.reduce_sum(y)
    return tape.gradient(loss, x)


def gradient_in_branch(x):
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * 1.0
        if tf.reduce_sum(x) > 0.0:
            y = tf.sqrt(y)  # here
        loss = tf.reduce_sum(y)
    return tape.gradient(loss, x)


def symbolic_gradient(x):
    y = tf.sqrt(x)  # here
    return tf.gradients(tf.reduce_sum(y), x)[0]


@tf.custom_gradient
def with_gradient(x):
    def gradient(upstream):
        return upstream / (x - x)  # here

    return x * 2.0, gradient


def written_gradient(x):
    with tf.GradientTape() as tape:
        tape.watch(x)
        loss = tf.reduce_sum(with_gradient(x))
    return tape.gradient(loss, x)


def second_gradient(x):
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = tf.reduce_sum(tf.pow(x, 1.5))  # here
        first = inner.gradient(y, x)
        again = tf.reduce_sum(first)
    return outer.gradient(again, x)


def traced_helper(x):
    y = x - 2.0
    return tf.math.log(y)  # here


def calls_traced_helper(x):
    return traced[traced_helper](x) * 2.0


def observed_helper(x):
    return tf.math.rsqrt(x)  # here


def calls_observed_helper(x):
    return traced[observed_helper](x) * 2.0


def root(x):
    return tf.sqrt(x)  # here


def gradient_of_traced_helper(x):
    with tf.GradientTape() as tape:
        tape.watch(x)
        loss = tf.reduce_sum(traced[root](x))
    return tape.gradient(loss, x)


def plain_helper(x):
    return 1.0 / x  # here


def calls_plain_helper(x):
    return plain_helper(x) + 1.0


def compiled_helper(x):
    y = x * 2.0
    return tf.math.log(y - 2.0)  # here


def calls_compiled_helper(x):
    return traced[compiled_helper](x) * 1.0


def variable_holds_nan(x):
    return tf.reduce_sum(poisoned * 2.0) + tf.reduce_sum(x)  # here


def after_assignment(x):
    scale.assign_sub(2.0)
    return x / scale  # here


def half_precision(x):
    return tf.reduce_sum(halves * halves) + tf.cast(x[0], tf.float16)  # here


def complex_numbers(x):
    z = tf.complex(x, x)
    return tf.math.abs(1.0 / z)  # here


def from_text(x):
    parsed = tf.strings.to_number(["1", "nan"])  # here
    return parsed * x[0]


def data(x):
    total = tf.zeros([])
    for each in tf.data.Dataset.from_tensor_slices([1.0, 0.0]):
        total += x[0] / each  # here
    return total


def keras_layer(x):
    hidden = dense(rows)
    return hidden / tf.reduce_sum(x - x)  # here


def keras_loss(x):
    return keras.losses.mean_squared_error(rows, rows * 1e25)  # here


class Scaled(nn.Module):
    """A module whose second line divides by zero."""

    @nn.compact
    def __call__(self, x):
        hidden = nn.Dense(2)(x)
        return hidden / tf.reduce_min(tf.abs(x))  # here


module = Scaled().bind(Scaled().init(nn.key(0), rows))


def bound_module(x):
    return module(rows) + x[0]


def sum_of_squares(x):
    huge = x * 1e20
    return tf.reduce_sum(tf.square(huge))  # here


def matrix(x):
    m = tf.reshape(x, [2, 2]) * 1e20
    return tf.linalg.matmul(m, m)  # here


def cross_entropy(x):
    probabilities = x / 4.0
    return -tf.reduce_sum(probabilities * tf.math.log(probabilities))  # here


def comprehension(x):
    return sum([tf.math.log(x[i]) for i in range(4)])  # here


def conditional_expression(x):
    return tf.sqrt(-x) if tf.reduce_sum(x) > 0.0 else x  # here


traced = {}
"""Functions that others call, by their Python: made when the tests begin, and traced then."""


def trace_helpers():
    """Makes what is to be made when the tests begin."""
    global scale
    scale = tf.Variable(2.0)
    traced[traced_helper] = tf.function(traced_helper)
    traced[observed_helper] = nbfn.function(observed_helper)
    traced[root] = tf.function(root)
    traced[compiled_helper] = tf.function(compiled_helper, jit_compile=True)
    for each in traced.values():
        each(numbers)


GRADIENTS = [
    *(gradient_of_sine, gradient_of_root, gradient_of_norm, gradient_of_power, gradient_in_loop),
    *(gradient_in_branch, symbolic_gradient, written_gradient, second_gradient),
    gradient_of_traced_helper,
]
FORWARD = [
    *(log_of_relu, log_of_negative, division, square_root, inverse_sine, big_exponent),
    *(hand_written_softmax, power, infinity_minus_infinity, third_turn, while_loop, nested_loops),
    *(one_branch, branch_in_loop, one_row, one_element_of_map, vectorized, scan),
    *(calls_traced_helper, calls_observed_helper, calls_plain_helper, calls_compiled_helper),
    *(variable_holds_nan, after_assignment, half_precision, complex_numbers, from_text, data),
    *(keras_layer, keras_loss, bound_module, sum_of_squares, matrix, cross_entropy),
    *(comprehension, conditional_expression),
]
ELSEWHERE = {
    calls_traced_helper: traced_helper,
    calls_observed_helper: observed_helper,
    calls_plain_helper: plain_helper,
    calls_compiled_helper: compiled_helper,
    gradient_of_traced_helper: root,
    written_gradient: with_gradient,
    bound_module: Scaled.__call__,
}
"""Where the bad line is, if not in the function itself."""
