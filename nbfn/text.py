"""How things of a function are written: its parameters, numbers of things."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Sequence
from itertools import zip_longest
from typing import Any, Protocol

MAX_TEXT = 60
"""Characters of a value that messages show."""

MAX_CAUSES = 3
"""So many causes of one retrace are shown in a line; the others are counted."""

INTERNAL = "nbfn·"
"""How the names begin of what nbfn itself passes to a function: they are shown to nobody."""

_BEFORE = 20


def parameters_text(python_function: Callable[..., Any]) -> str:
    """The parameters without annotations, such as ``(images, labels, training=True)``."""
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
    """A cause of a trace, as the functions have it or as a record."""

    @property
    def code(self) -> str:
        """The kind of cause."""

    @property
    def sentence(self) -> str:
        """The cause in words."""


def reasons(causes: Sequence[CauseLike]) -> str:
    """Why, in one sentence; of many causes, such as those of a long tuple, the first."""
    more = len(causes) - MAX_CAUSES
    said = "; ".join(cause.sentence for cause in causes[:MAX_CAUSES])
    return f"{said}; and {more} more" if more > 0 else said


def count(number: int, noun: str) -> str:
    """A number of things, such as ``1 call`` and ``2 calls``."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def sizes(shape: Iterable[int | None] | None) -> str:
    """A shape as text; ``[...]`` if its rank is not known."""
    is_known = shape is not None and getattr(shape, "rank", 0) is not None
    return str(list(shape)) if shape is not None and is_known else "[...]"


def tensor_type(dtype: str, shape: Iterable[int | None] | None) -> str:
    """Dtype and shape as text: ``float32[None, 8]``."""
    return dtype + sizes(shape)


def data_size(nbytes: float) -> str:
    """A number of bytes as people write it: ``512 B``, ``1.5 kB``, ``12 MB`` (powers of 1000)."""
    units = iter(("B", "kB", "MB", "GB", "TB"))
    unit = next(units)
    while nbytes >= (1000 if unit == "B" else 999.5) and unit != "TB":
        nbytes, unit = nbytes / 1000, next(units)
    digits = 2 if nbytes < 9.95 else 3
    return f"{nbytes:,.0f} B" if unit == "B" else f"{significant(nbytes, digits)} {unit}"


def significant(value: float, digits: int) -> str:
    """A number rounded to some digits, its thousands separated: ``2.41``, ``40``, ``1,230``."""
    rounded = float(f"{value:.{digits}g}")
    return f"{rounded:,.3f}".rstrip("0").rstrip(".")


def duration(seconds: float | None) -> str:
    """A time as people write it: ``38 ms``, ``3.14 s``, ``2 min 5 s``; a dash for none."""
    if seconds is None:
        return "–"
    milliseconds = seconds * 1e3
    if milliseconds <= 0:
        return "0 ms"
    if milliseconds < 0.095:
        return f"{significant(milliseconds * 1e3, 2)} µs"
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
    """A share in whole percents; one above zero is never 0."""
    return "< 1 %" if 0 < share < 0.005 else f"{share:.0%}".replace("%", " %")


def join(items: Sequence[str], word: str = "and") -> str:
    """Some items in words: ``a``, ``a and b``, ``a, b and c``."""
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} {word} {items[-1]}"


def numbered(noun: str, numbers: Sequence[int]) -> str:
    """Things by their numbers: ``trace 3``, ``traces 1, 3 and 13 to 24``."""
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
    """A noun with its article: ``a Sequential object``, ``an Adam object``."""
    return f"{'an' if noun[:1] in 'AEIOUaeio' else 'a'} {noun}"


def visible(text: str) -> str:
    """A text in which controls of direction, and others that nothing shows, are seen as codes.

    The joiners stay, without which words of some languages and some emoji fall apart.
    """
    return _HIDDEN.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff]"
)


def shorten(text: str) -> str:
    """The text on one line of at most `MAX_TEXT` characters."""
    line = " ".join(text.split())
    return cut(line, MAX_TEXT)


def apart(old: str, new: str, most: int) -> tuple[str, str]:
    """Two texts of at most `most` characters: longer ones from a little before they differ."""
    if max(len(old), len(new)) > most:
        pairs = enumerate(zip_longest(old, new))
        start = next((n for n, (one, other) in pairs if one != other), 0) - _BEFORE
        if start > 0:
            old, new = f"…{old[start:]}", f"…{new[start:]}"
    return cut(old, most), cut(new, most)


def cut(text: str, most: int) -> str:
    """The text, its end left out if it has more characters than that."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def first_line(error: BaseException, most: int = 120) -> str:
    """The first line of what an error says, cut where it is long; its class if it says nothing."""
    return (str(error).splitlines() or [type(error).__name__])[0][:most]


_LISTED = 50


def listed(noun: str, items: Sequence[object]) -> str:
    """Things as lines below their number: ``<2 traces>``; of many the newest, which are last."""
    left = len(items) - _LISTED
    more = [f"  ... and {left:,} earlier"] if left > 0 else []
    lines = [f"  {each!r}" for each in items[-_LISTED:]]
    return "\n".join([f"<{count(len(items), noun)}>", *more, *lines])
