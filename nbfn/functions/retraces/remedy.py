"""What to change so that the same calls do not retrace."""

from __future__ import annotations

from collections.abc import Sequence

from nbfn.functions.traces.cause import Cause, Remedy


def remedy_for(
    name: str | None, causes: Sequence[Cause], relaxing: str | None = None
) -> Remedy | None:
    """The remedy for a miss.

    Args:
        name: The expression by which the user's code can refer to the function; None if there is
            none.
        causes: The causes of the miss.
        relaxing: The code by which the user lets one trace serve more; None for ``relax()``.

    Returns:
        The remedy that serves the gravest cause; None where there is nothing to change.
    """
    codes = {cause.code: cause for cause in causes if not _is_of_code(cause)}
    if codes and codes.keys() <= {"shape"}:
        paths = _join([f"`{cause.path}`" for cause in causes])
        sentence = f"Let one trace serve every size of {paths}"
        if name is None and relaxing is None:
            return Remedy(f"{sentence}: give the function a name, and call its relax()")
        return Remedy(sentence, relaxing or f"{name}.relax()")
    for code, advice in _ADVICE.items():
        if code in codes:
            cause = codes[code]
            return Remedy(advice.format(path=cause.path, old=cause.old, new=cause.new))
    if "python_value" in codes:
        return _for_value(name, codes["python_value"])
    return None


_ADVICE = {
    "rank": "Give `{path}` one rank: reshape it, or use tf.expand_dims, before the call",
    "dtype": "Give `{path}` one dtype: tf.cast(…, tf.{old}) before the call",
    "python_type": "Pass `{path}` always as the same kind of value",
    "structure": "Pass `{path}` always with the same structure",
    "object_identity": "Make the object of `{path}` once and pass the same one each time; "
    "or pass the tensors that it holds",
    "alias": "Pass the variables in the same pattern each time",
    "device": "Call it in one device scope, or place operations inside it with tf.device",
    "summaries": "Each summary writer and condition has a trace of its own",
    "stale": "Pass `{path}` as an argument, or keep it in a tf.Variable that you assign to",
    "xla_compile": "Pad the arguments to a few sizes: XLA compiles for each shape that it meets",
}


def _is_of_code(cause: Cause) -> bool:
    """Whether code has changed, which needs a new trace and no remedy."""
    return cause.code == "stale" and (cause.new or "").startswith("function ")


def _for_value(name: str | None, cause: Cause) -> Remedy:
    if cause.new in ("True", "False", "None") or cause.new is None or cause.new[0] in "'\"b":
        return Remedy(
            f"Each value of `{cause.path}` needs a trace of its own; "
            "this is right for a switch with few values"
        )
    sentence = f"Make `{cause.path}` a tensor, whose value is no part of the key"
    if name is None:
        return Remedy(f"{sentence}: tf.constant({cause.new})")
    return Remedy(sentence, f"{name}.relax()")


def _join(items: Sequence[str]) -> str:
    return items[0] if len(items) == 1 else ", ".join(items[:-1]) + " and " + items[-1]
