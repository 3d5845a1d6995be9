"""What is compared after each action, and what nothing that nbfn shows may hold."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Set
from typing import Any

from tests.hours.playing.driver import Ran

MAX_CAUSES = 3
MAX_SENTENCES = 2
MAX_LINE = 240
MAX_VIEW = 6_000
MAX_PATCHES = 80_000
"""Bytes that the panel may get while one cell runs."""

_NUMBER = re.compile(
    r"(?<![A-Za-z_\d])[-+]?(?:\d+\.?\d*(?:[eE][-+]?\d+)?|\.\d+|nan|inf)(?![A-Za-z_])"
)
_UNCOMPARED = re.compile(r" at 0x[0-9a-f]+|, value=[^>]*")
"""Addresses, and the values of variables, which have none while a function is traced."""

_FORBIDDEN = (
    r"nbfn·\S*",
    r"\b0x[0-9a-f]{4,}",
    r"\bself_update_uid\b",
    r"\b_lock\b",
    r"\._[a-z]\w*",
    r"\bbuilt\b",
    r"\baddress\b",
    r"\b_momentums\b",
    r"<locals>",
    r"\btf__\w+",
    r"SymbolicTensor",
    r"\bunnamed \w+",
    r"\b[Aa] `?[AEIO][a-z]\w*",  # "a Adam"
    r"\bNone object\b",
    r"\(gone\)",
    r"`\w+` `\w+`",
    r"cannot be traced: \w+Error",
)
"""What is no name of the user's and no word of English."""

_PLACES = r"site-packages|nbfn/(?!\w+\.md|guide/|causes)|polymorphic_function|autograph"


# Against plain Python --------------------------------------------------------------------


def different_text(found: str, plain: str, rtol: float) -> str | None:
    """How a text differs from that of plain Python; numbers may, a little. None if it does not."""
    texts = [_UNCOMPARED.sub("", text).strip() for text in (found, plain)]
    shapes = [" ".join(_NUMBER.sub("#", text).split()) for text in texts]
    numbers = [_NUMBER.findall(text) for text in texts]
    if (
        shapes[0] == shapes[1]
        and len(numbers[0]) == len(numbers[1])
        and all(_is_near_text(one, other, rtol) for one, other in zip(*numbers, strict=True))
    ):
        return None
    return f"with nbfn {_cut(texts[0])!r}, plainly {_cut(texts[1])!r}"


def _is_near_text(one: str, other: str, rtol: float) -> bool:
    if one == other:
        return True
    if not re.search(r"[.en]", one + other):
        return False
    decimals = min(len(each.partition(".")[2].partition("e")[0]) for each in (one, other))
    exponent = int(other.partition("e")[2] or 0)
    return _is_near(float(one), float(other), rtol, 1.5 * 10.0 ** (exponent - decimals))


def _is_near(one: float, other: float, rtol: float, atol: float = 1e-5) -> bool:
    if math.isnan(one) or math.isnan(other):
        return math.isnan(one) and math.isnan(other)
    return one == other or abs(one - other) <= atol + rtol * abs(other)


def different_values(found: Any, plain: Any, rtol: float, path: str = "") -> Iterator[str]:
    """How values differ from those of plain Python, by path."""
    if isinstance(found, dict) and isinstance(plain, dict):
        if "shape" in found and found.get("dtype") in ("float16", "bfloat16"):
            rtol = max(rtol, 1e-2)
        for name in sorted(found.keys() | plain.keys()):
            inner = f"{path}.{name}" if path else name
            if name not in found or name not in plain:
                yield f"{inner} is only there {'plainly' if name in plain else 'with nbfn'}"
            else:
                yield from different_values(found[name], plain[name], rtol, inner)
    elif isinstance(found, list) and isinstance(plain, list):
        if len(found) != len(plain):
            yield f"{path} has {len(found)} parts with nbfn, {len(plain)} plainly"
            return
        for number, pair in enumerate(zip(found, plain, strict=True)):
            yield from different_values(*pair, rtol, f"{path}[{number}]")
    elif isinstance(found, float) and isinstance(plain, float):
        if not _is_near(found, plain, rtol):
            yield f"{path} is {found} with nbfn, {plain} plainly"
    elif type(found) is not type(plain) or found != plain:
        yield f"{path} is {_cut(str(found))} with nbfn, {_cut(str(plain))} plainly"


def different_error(found: Ran, plain: Ran, raises: Any, rtol: float) -> str | None:
    """How the error of a cell differs from that of plain Python; None if it does not."""
    wanted = raises if isinstance(raises, tuple) else (raises, raises)
    types = [None if ran.error is None else ran.error[0] for ran in (plain, found)]
    if raises is not None and tuple(types) == wanted:
        if wanted[0] != wanted[1]:
            return None
    elif types[0] != types[1] or (raises is None and types[0] is not None):
        said = found.error or plain.error
        return f"{types[1]} with nbfn, {types[0]} plainly: {_cut(str(said))}"
    if found.error is None or plain.error is None or _is_tensorflows(plain):
        return None
    return different_text(found.error[1], plain.error[1], rtol)


def _is_tensorflows(ran: Ran) -> bool:
    return "framework" in ran.traceback or "[Op:" in ran.traceback or "{{node" in ran.traceback


# What nbfn shows -------------------------------------------------------------------------


def shown_texts(ran: Ran, state: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """All texts that are shown after a cell, each with where."""
    for view in ran.views:
        yield "view", view
    yield "warning", ran.warned
    yield "session", state["session"]
    yield "dependencies", state["dependencies"]
    for table, rows in ran.rows.items():
        for row in rows:
            yield from ((f"panel, {table}", text) for text in _row_texts(table, row))


def _row_texts(table: str, row: Mapping[str, Any]) -> Iterator[str]:
    if table in ("functions", "cells"):
        yield from (str(row[name]) for name in ("name", "sentence", "parameters") if name in row)
        yield from row.get("python", ())
    if table == "traces":
        yield row["cause"]["sentence"]
        yield from (f"{leaf['path']}: {leaf['type']}" for leaf in row["signature"])
    if table == "retraces":
        yield from (cause["sentence"] for cause in row["causes"])
        if row["remedy"] is not None:
            yield row["remedy"]["sentence"]
            yield row["remedy"]["code"] or ""
    if table == "work":
        yield row["sentence"]


def wrong_words(text: str, own: str) -> Iterator[str]:
    """Words that no user has written and none should read.

    Args:
        text: What is shown.
        own: All that the user has written.
    """
    for pattern in _FORBIDDEN:
        for match in re.finditer(pattern, text):
            if match[0].lstrip(".") not in own:
                line = text[text.rfind("\n", 0, match.start()) + 1 :].partition("\n")[0]
                yield f"{match[0]!r} in {_cut(line.strip())!r}"


def too_long(where: str, text: str) -> Iterator[str]:
    """What of a text is longer than anybody reads."""
    if len(text) > MAX_VIEW:
        yield f"{where} has {len(text)} characters, and begins {_cut(text)!r}"
    for line in text.splitlines():
        for part in re.split(r" {2,}", line.strip()):  # the columns of a table
            if len(part) > MAX_LINE and where != "session":
                yield f"{where} has a line of {len(part)} characters: {_cut(part)!r}"
        if len(re.findall(r"; (?:global|attribute|`|argument|the )", line)) >= MAX_CAUSES:
            yield f"{where} has many causes in a line: {_cut(line)!r}"


def wrong_retraces(retraces: list[dict[str, Any]], changes: int) -> Iterator[tuple[str, str]]:
    """What is wrong with how retraces are reported, by kind of check.

    Args:
        retraces: The retraces.
        changes: How many changes the user has made.
    """
    for each in retraces:
        if len(each["causes"]) > max(MAX_CAUSES, changes):
            yield "causes", f"{len(each['causes'])} causes: {'; '.join(each['causes'][:4])} …"
        remedy = each["remedy"]
        if remedy and len(re.split(r"; then |\. (?=[A-Z])", remedy)) > MAX_SENTENCES:
            yield "remedy", f"a remedy of many sentences: {remedy}"
        for name in each["unknown"]:
            yield "remedy", f"`{each['code']}` needs a name that the notebook has not: {name}"


def wrong_names(
    state: Mapping[str, Any], panel: Mapping[str, Mapping[str, Any]], totals: Mapping[str, Any]
) -> Iterator[tuple[str, str]]:
    """Variables that are dead, that have two names or share one, or are counted wrongly."""
    rows = state["sent"]
    for id, (shown, _) in rows.items():
        named = state["named"].get(id)
        _, in_session, is_alive = state["captures"].get(id, (None, named, named is not None))
        if not is_alive:
            yield "variables", f"the panel lists {shown}, which is dead"
        elif in_session is not None and shown != in_session:
            yield "names", f"the panel says {shown}, the session {in_session}"
    for id, (name, in_session, is_alive) in state["captures"].items():
        if is_alive and in_session is not None and name != in_session:
            yield "names", f"captures say {name}, the session {in_session} ({id})"
    for name, number in Counter(shown for shown, _ in rows.values()).items():
        if number > 1:
            yield "names", f"the panel has {number} variables {name}"
    seen = Counter(
        (function, name) for function, name, is_current in state["captured"] if is_current
    )
    for (function, name), number in seen.items():
        if number > 1:
            yield "names", f"{function} captures {number} variables {name}"
    inside = {id for cell in panel["cells"].values() for id in cell["functions"]}
    listed = {
        "functions": len(panel["functions"].keys() - inside),
        "variables": sum(kind == "variable" for _, kind in rows.values()),
        **{table: len(panel[table]) for table in ("cells", "traces", "retraces")},
    }
    for table, number in listed.items():
        if totals.get(table) != number:
            yield "counts", f"the panel counts {totals.get(table)} {table}, has {number}"


def lists_dead(ran: Ran, live: Set[str]) -> Iterator[str]:
    """Captured variables that a view lists although no name leads to them any more.

    Args:
        ran: What a cell has shown.
        live: The names of the variables that the session has.
    """
    roots = {name.partition("/")[0] for name in live}
    for view in ran.views:
        _, _, captures = view.partition("\ncaptures:\n")
        for line in captures.splitlines()[1:]:
            name = line.split()[0] if line.strip() else ""
            if line.endswith("variable") and name.partition("/")[0] in roots and name not in live:
                yield f"a view lists {name}, which no name leads to"


def machinery(traceback: str) -> Iterator[str]:
    """Lines of an error that are not the user's."""
    for line in traceback.splitlines():
        if re.search(_PLACES, line):
            yield _cut(line.strip())


def matches(pattern: str, text: str) -> bool:
    """Whether a text has a pattern in it, in which an ellipsis stands for anything."""
    return re.search(".*".join(map(re.escape, pattern.split("…"))), text, re.DOTALL) is not None


def _cut(text: str, most: int = 300) -> str:
    return text if len(text) <= most else f"{text[:most]}…"
