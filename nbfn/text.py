"""Formats numbers, times, sizes, shapes and lists of things as text."""

from __future__ import annotations

import difflib
import inspect
import re
from collections.abc import Callable, Iterable, Sequence
from itertools import zip_longest
from typing import Any, Protocol

MAX_TEXT = 60
"""Maximum number of characters of a value in messages."""

MAX_CAUSES = 3
"""Maximum number of causes of a retrace in one line; the others are counted."""

INTERNAL = "nbfn·"
"""Prefix of parameters that nbfn adds to functions; they are never shown."""

_BEFORE = 20


def parameters_text(python_function: Callable[..., Any]) -> str:
    """Formats the parameters without annotations: ``(images, labels, training=True)``."""
    try:
        signature = inspect.signature(python_function)
    except (TypeError, ValueError):
        return "(…)"
    bare = [
        each.replace(annotation=each.empty)
        for name, each in signature.parameters.items()
        if not name.startswith(INTERNAL)
    ]
    return shorten(str(signature.replace(parameters=bare, return_annotation=signature.empty)))


class CauseLike(Protocol):
    """A cause of a trace, as an object of `nbfn.functions` or as a record."""

    @property
    def code(self) -> str:
        """The kind of cause."""

    @property
    def sentence(self) -> str:
        """The cause as a sentence."""


def reasons(causes: Sequence[CauseLike]) -> str:
    """Joins the first causes to one sentence, with the number of the others."""
    more = len(causes) - MAX_CAUSES
    text = "; ".join(cause.sentence for cause in causes[:MAX_CAUSES])
    return f"{text}; and {more} more" if more > 0 else text


def count(number: int, noun: str) -> str:
    """Formats a number of things: ``1 call``, ``2 calls``."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def sizes(shape: Iterable[int | None] | None) -> str:
    """Formats a shape; ``[...]`` if its rank is unknown."""
    is_known = shape is not None and getattr(shape, "rank", 0) is not None
    return str(list(shape)) if shape is not None and is_known else "[...]"


def tensor_type(dtype: str, shape: Iterable[int | None] | None) -> str:
    """Formats dtype and shape: ``float32[None, 8]``."""
    return dtype + sizes(shape)


def data_size(nbytes: float | None) -> str:
    """Formats a number of bytes: ``512 B``, ``1.5 kB`` (powers of 1000); nothing for None."""
    if nbytes is None:
        return ""
    units = iter(("B", "kB", "MB", "GB", "TB"))
    unit = next(units)
    # With three digits, 999.5 would become 1,000.
    while nbytes >= (1000 if unit == "B" else 999.5) and unit != "TB":
        nbytes, unit = nbytes / 1000, next(units)
    digits = 2 if nbytes < 9.95 else 3
    return f"{nbytes:,.0f} B" if unit == "B" else f"{significant(nbytes, digits)} {unit}"


def significant(value: float, digits: int) -> str:
    """Rounds to significant digits, with thousands separators: ``2.41``, ``40``, ``1,230``."""
    # `g` alone would write large numbers with an exponent.
    rounded = float(f"{value:.{digits}g}")
    return f"{rounded:,.3f}".rstrip("0").rstrip(".")


def duration(seconds: float | None) -> str:
    """Formats a time: ``38 ms``, ``3.14 s``, ``2 min 5 s``; a dash for None."""
    if seconds is None:
        return "–"
    milliseconds = seconds * 1e3
    if milliseconds <= 0:
        return "0 ms"
    if milliseconds < 0.095:
        return f"{significant(milliseconds * 1e3, 2)} µs"
    # Each limit is where rounding would reach the next unit: 999.5 ms would become 1,000 ms.
    if milliseconds < 999.5:
        return f"{significant(milliseconds, 2 if milliseconds < 99.5 else 3)} ms"
    if seconds < 59.95:
        return f"{significant(seconds, 3)} s"
    if round(seconds) < 3600:
        minutes, rest = divmod(round(seconds), 60)
        return f"{minutes} min {rest} s"
    hours, minutes = divmod(round(seconds / 60), 60)
    return f"{hours:,} h {minutes} min"


def percent(share: float) -> str:
    """Formats a share in whole percents; a non-zero share never becomes 0 %."""
    return "< 1 %" if 0 < share < 0.005 else f"{share:.0%}".replace("%", " %")


def join(items: Sequence[str], word: str = "and") -> str:
    """Joins items: ``a``, ``a and b``, ``a, b and c``."""
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} {word} {items[-1]}"


def did_you_mean(
    name: str, names: Iterable[str], form: str = "`{}`", most: int = 1, start: str = "; did"
) -> str:
    """Returns a hint that suggests the most similar names: ``; did you mean `kernel`?``.

    Args:
        name: The name that is unknown.
        names: Those that are known.
        form: How each is shown.
        most: Maximum number to suggest.
        start: The beginning of the hint.

    Returns:
        The hint; an empty text if no name is similar.
    """
    near = [form.format(each) for each in difflib.get_close_matches(name, list(names), most)]
    return f"{start} you mean {join(near, 'or')}?" if near else ""


def numbered(noun: str, numbers: Sequence[int]) -> str:
    """Lists things by number: ``trace 3``, ``traces 1, 3 and 13 to 24``."""
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    short = [[run] if len(run) > 2 else [[each] for each in run] for run in runs]
    parts = [str(r[0]) if len(r) == 1 else f"{r[0]} to {r[-1]}" for run in short for r in run]
    return f"{noun}{'' if len(numbers) == 1 else 's'} {join(parts)}"


def with_article(noun: str) -> str:
    """Adds the article to a noun: ``a Sequential object``, ``an Adam object``."""
    return f"{'an' if noun[:1] in 'AEIOUaeio' else 'a'} {noun}"


def visible(text: str) -> str:
    """Escapes characters that are invisible or change the direction of text.

    Joiners are kept, because words of some languages and some emoji need them.
    """
    return _HIDDEN.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff]"
)


def shorten(text: str) -> str:
    """Returns a text on one line of at most `MAX_TEXT` characters."""
    line = " ".join(text.split())
    return cut(line, MAX_TEXT)


def apart(old: str, new: str, most: int) -> tuple[str, str]:
    """Cuts two texts to `most` characters, starting a little before their first difference."""
    if max(len(old), len(new)) > most:
        pairs = enumerate(zip_longest(old, new))
        # If one text is the beginning of the other, they differ where it ends: `zip_longest` gives
        # None.
        start = next((n for n, (one, other) in pairs if one != other), 0) - _BEFORE
        if start > 0:
            old, new = f"…{old[start:]}", f"…{new[start:]}"
    return cut(old, most), cut(new, most)


def cut(text: str, most: int) -> str:
    """Cuts a text to at most `most` characters."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def first_line(error: BaseException, most: int = 120) -> str:
    """Returns the first line of an error's message, cut to `most`; its class if it is empty."""
    return (str(error).splitlines() or [type(error).__name__])[0][:most]


_LISTED = 20


def listed(noun: str, items: Sequence[object]) -> str:
    """Lists things below their number, ``<2 traces>``; of many only the newest, which are last."""
    left = len(items) - _LISTED
    more = [f"  ... and {left:,} earlier"] if left > 0 else []
    lines = [f"  {each}" for each in items[-_LISTED:]]
    return "\n".join([f"<{count(len(items), noun)}>", *more, *lines])


def with_notes(title: str, items: Iterable[object], notes: Iterable[str]) -> str:
    """Lists things and notes below a title."""
    notes = (f"note: {note}" for note in notes)
    return "\n".join([title, *(f"  {each}" for each in (*items, *notes))])
