"""Advises what to change so that the same calls do not retrace."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from nbfn.functions.retraces.call_text import rewritten_call
from nbfn.functions.traces.cause import Cause, Remedy
from nbfn.site import Site, reached_from_cells
from nbfn.text import MAX_CAUSES, count, join

_MAX_SENTENCES = 2
_OF_ARGUMENTS = frozenset({"shape", "rank", "dtype", "structure", "python_type"})
SIZES = ("shape", "rank")
"""Differences that one trace can serve after `relax`."""


@dataclass(frozen=True)
class CallDescription:
    """How user code calls a function.

    Attributes:
        name: The expression that refers to it; None if there is none.
        relaxing: The code that lets one trace serve more calls; None for ``relax()``.
        site: Where the call is.
        parameters: The names of the function's parameters, in order.
        unnamed: Advice on how one trace can serve more calls, if there is no code for that.
        recursive: Whether it calls itself while it is traced, so that each number needs a trace.
        by_value: Parameters declared as ``TRACE_ON_NEW_VALUE``.
        waits: Whether there is one trace only, which ``relax()`` leaves as it is.
    """

    name: str | None
    relaxing: str | None = None
    site: Site | None = None
    parameters: tuple[str, ...] = ()
    unnamed: str = "give the function a name, and call its relax()"
    recursive: bool = False
    by_value: frozenset[str] = frozenset()
    waits: bool = False


def remedy_for(called: CallDescription, causes: Sequence[Cause]) -> Remedy | None:
    """Returns the remedy for a miss, for all of its causes together.

    Returns:
        None if there is nothing to change. It has code if the code fixes everything that can be.
    """
    widened = {cause.argument for cause in causes if cause.code == "widened"}
    causes = [
        cause
        for cause in causes
        if not (_is_of_code(cause) or _serves_every_size(cause))
        and not is_declared(cause, called.by_value)
        and (cause.path is not None or cause.code not in _OF_ARGUMENTS)
        and not (cause.argument in widened and cause.code in ("shape", "rank", "widened"))
    ]
    ending = [cause for cause in causes if called.recursive and cause.code == "python_value"]
    if ending:
        return Remedy(_filled_in(_RECURSION, ending))
    relaxed = [cause for cause in causes if _can_relax(cause)]
    cast = [cause for cause in causes if cause.code == "dtype"]
    others = [cause for cause in causes if cause not in relaxed and cause.code != "dtype"]
    sentences = _advices(others, _MAX_SENTENCES - bool(cast) - bool(relaxed))
    code = [line for line in (_as_variable(called, cause) for cause in others) if line]
    rewritten = None
    if cast:
        rewritten = _with_casts(called, cast)
        sentences.append(_cast_advice(cast, written=rewritten is not None))
        code += [rewritten] if rewritten else []
    if relaxed:
        when = ", once this call has traced" if called.waits else ""
        sentences.append(f"{_relax_advice(relaxed)}{when}")
        if not others:  # a signature cannot cover other differences
            if called.name is None and called.relaxing is None:
                sentences[-1] += f": {called.unnamed}"
            elif rewritten or not cast:
                code.append(called.relaxing or f"{called.name}.relax()")
    if not sentences:
        return None
    return Remedy(
        "; then ".join([sentences[0], *map(_lower, sentences[1:])]), "\n".join(code) or None
    )


def is_declared(cause: Cause, by_value: frozenset[str]) -> bool:
    """Returns whether a signature declares that another value of the argument makes a trace."""
    codes = _OF_ARGUMENTS | {"python_value", "object_identity"}
    return cause.argument in by_value and cause.code in codes


def _serves_every_size(cause: Cause) -> bool:
    """Returns whether the new trace leaves open each size that differs: no other will follow."""
    if cause.code != "shape":
        return False
    old, new = (str(each).strip("[]").split(", ") for each in (cause.old, cause.new))
    return len(old) == len(new) and all(
        now == "None" for was, now in zip(old, new, strict=True) if was != now
    )


_ADVICE = {
    "python_type": "Always pass `{path}` as the same kind of value, as {old}",
    "structure": "Always pass `{path}` with the same structure, as {old}",
    "object_identity": "Make the {object} of {paths} once and pass the same {one} each time; "
    "or pass the tensors that {it holds}",
    "alias": "Pass the variables in the same pattern each time",
    "device": "Always call it in the same device scope, or use tf.device inside it",
    "strategy": "Make one strategy object, and always call it under that: each has a trace of its "
    "own",
    "context": "Call it eagerly, outside of `with graph.as_default()`",
    "summaries": "Each summary writer and condition has a trace of its own",
    "stale": "Pass {paths} as {an argument}",
    "xla_compile": "Pad the arguments to a few sizes: XLA compiles for each new shape",
    "python_value": "Always pass `{path}` as {old}, or let each value have a trace of its own, "
    "which is right for a switch with few values",
}


_OF_SETTINGS = {
    "tf.random.set_seed": "Draw by tf.random.stateless_… with a seed that is an argument, "
    "seed=[seed, 0]: one trace serves every seed",
    "keras.utils.set_random_seed": "Draw with a keras.random.SeedGenerator of your own, and reset "
    "its state: generator.state.assign([seed, 0])",
    "tf.random.set_global_generator": "Make one tf.random.Generator, and set it back to a seed: "
    "tf.random.get_global_generator().reset_from_seed(seed)",
    "tf.summary.experimental.set_step": "Set the step to a tf.Variable of int64, and assign to it: "
    "one trace serves every step",
}
_RECURSION = (
    "If the recursion goes deep, use a `while` loop: it ends only for Python "
    "values of {paths}, and each of them has a trace of its own"
)
_ANOTHER_VARIABLE = "Assign to {paths}, as in {path}.assign(…), instead of making a new variable"
_AS_VARIABLE = "Pass {paths} as {an argument}, or keep {it} in a tf.Variable that you assign to"
_SEQUENCE = (
    "Always pass `{path}` with the same length, as {old} (pad it); or pass one tensor, "
    "tf.stack({path}), whose first dimension may differ"
)


def _advices(causes: Sequence[Cause], most: int) -> list[str]:
    """Returns advice on causes that need neither cast nor signature: at most `most` sentences."""
    is_another = any(cause.code == "stale" and cause.kind == "object" for cause in causes)
    groups: dict[str, list[Cause]] = {}
    for cause in causes:
        advice = _advice(cause)
        if advice is not None and not (is_another and advice == _ANOTHER_VARIABLE):
            # One sentence serves all paths if it uses nothing else of the cause.
            key = f"{advice}{cause.path}{cause.old}" if "{old}" in advice else advice
            groups.setdefault(key, []).append(cause)
    found = [_filled_in(str(_advice(group[0])), group) for group in groups.values()]
    more = len(found) - max(most, 1)
    if more > 0:
        found = [*found[:-more], f"do the same for {count(more, 'other cause')}"]
        found[-2:] = [" and ".join(found[-2:])]
    return found


def _filled_in(advice: str, causes: Sequence[Cause]) -> str:
    paths = list(dict.fromkeys(f"`{cause.path}`" for cause in causes))
    more = len(paths) - MAX_CAUSES
    is_one = len(paths) == 1
    return advice.format_map(
        {
            "path": causes[0].path,
            "old": causes[0].old,
            "paths": join([*paths[:MAX_CAUSES], f"{more} more"] if more > 0 else paths),
            "an argument": "an argument" if is_one else "arguments",
            "a tensor": "a tensor" if is_one else "tensors",
            "it": "it" if is_one else "each",
            "object": "object" if is_one else "objects",
            "function": "function" if is_one else "functions",
            "one": "one" if is_one else "ones",
            "it holds": "it holds" if is_one else "they hold",
        }
    )


def _advice(cause: Cause) -> str | None:
    """Returns the advice on one cause; None if there is none, as for a replaced model."""
    if cause.kind == "sequence":
        return _SEQUENCE
    if cause.code == "structure" and "absent" in (cause.old, cause.new):
        return "Pass {paths} in each call, or in none"
    if cause.code == "object_identity" and cause.kind == "function":
        return "Define {paths} once and pass the same {function} each time"
    if cause.kind == "scalar":
        tensor = next(str(each) for each in (cause.new, cause.old) if str(each).endswith("[]"))
        return f"Always pass {{paths}} as {{a tensor}}: tf.constant(…, tf.{tensor[:-2]})"
    if cause.code == "stale" and cause.path in _OF_SETTINGS:
        return _OF_SETTINGS[cause.path]
    if cause.code == "alias" and cause.kind == "variable":
        return "Each variable that the code itself reads has a trace of its own"
    if cause.code == "stale" and cause.kind == "variable":
        return _ANOTHER_VARIABLE
    if cause.code == "stale" and cause.kind in ("number", "tensor"):
        return _AS_VARIABLE
    if cause.code == "stale" and (cause.kind == "object" or cause.path is None):
        return None
    return _ADVICE.get(cause.code)


def _can_relax(cause: Cause) -> bool:
    if cause.code in ("python_value", "python_type"):
        return cause.kind == "number"
    return cause.code in SIZES


def _relax_advice(causes: Sequence[Cause]) -> str:
    parts = [
        (("shape",), "every size of {}"),
        (("rank",), "every rank of {} (or give it one with tf.expand_dims)"),
        (("python_value", "python_type"), "every value of {}, as a tensor (tf.constant)"),
    ]
    what = []
    for codes, text in parts:
        paths = [f"`{cause.path}`" for cause in causes if cause.code in codes]
        if paths:
            what.append(text.format(join(paths)))
    return f"Let one trace serve {join(what)}"


def _cast_advice(causes: Sequence[Cause], written: bool) -> str:
    sentence = f"Give {join([f'`{cause.path}`' for cause in causes])} one dtype before the call"
    casts = join(list(dict.fromkeys(f"tf.cast(…, tf.{cause.old})" for cause in causes)))
    return sentence if written else f"{sentence}: {casts}"


def _with_casts(called: CallDescription, causes: Sequence[Cause]) -> str | None:
    if called.name is None or called.site is None:
        return None
    casts = {str(cause.path): f"tf.cast({{}}, tf.{cause.old})" for cause in causes}
    return rewritten_call(called.site, called.name, called.parameters, casts)


def _as_variable(called: CallDescription, cause: Cause) -> str | None:
    """Returns code that keeps a number in a variable, if user code can assign it."""
    if cause.code != "stale" or cause.source not in ("global", "attribute"):
        return None
    place = str(cause.path)
    if place.split(".")[0] == "self":
        owner = (called.name or "").rpartition(".")[0]
        if not owner:
            return None
        place = owner + place.removeprefix("self")
    elif place.split(".")[0] in called.parameters:  # the caller does not have this name
        return None
    if cause.kind != "number" or not place.replace(".", "").isidentifier():
        return None
    setup, place = reached_from_cells(cause.module, place)
    return f"{setup}{place} = tf.Variable({place})"


def _is_of_code(cause: Cause) -> bool:
    """Returns whether code has changed, which needs a new trace and no remedy."""
    return cause.code == "stale" and cause.kind == "function"


def _lower(sentence: str) -> str:
    return sentence[:1].lower() + sentence[1:]
