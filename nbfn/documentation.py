"""Where the documentation is, as the package's metadata say: the address stands nowhere else."""

from __future__ import annotations

import functools
from importlib.metadata import metadata


@functools.cache
def documentation() -> str | None:
    """The address of the documentation; None if the installed package does not tell it."""
    try:
        urls = metadata("nbfn").get_all("Project-URL") or []
    except Exception:  # a broken installation must not break what has a link to it
        return None
    for each in urls:
        name, _, address = str(each).partition(", ")
        if name == "Documentation" and address.startswith("https:"):
            return address.rstrip("/")
    return None


def page_of_cause(code: str) -> str | None:
    """The address of the section on a kind of cause; None if it is not known."""
    root = documentation()
    return None if root is None else f"{root}/causes.html#{code}"
