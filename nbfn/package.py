"""The version and the address of the documentation, from the metadata of the installed package.

The only source of the version is ``labextension/package.json``; that of the address is
``pyproject.toml``.
"""

from __future__ import annotations

import functools
from importlib.metadata import PackageNotFoundError, metadata, version

try:
    __version__ = version("nbfn")
except PackageNotFoundError:
    __version__ = "0.0.0"


@functools.cache
def documentation() -> str | None:
    """Returns the address of the documentation; None if the package does not define it."""
    try:
        urls = metadata("nbfn").get_all("Project-URL") or []
    except Exception:  # a broken installation must not break views with links
        return None
    for each in urls:
        name, _, address = str(each).partition(", ")
        if name == "Documentation" and address.startswith("https:"):
            return address.rstrip("/")
    return None


def page_of_cause(code: str) -> str | None:
    """Returns the address of the section on a kind of cause; None if unknown."""
    root = documentation()
    return None if root is None else f"{root}/causes.html#{code}"


def page_of_guide(name: str) -> str | None:
    """Returns the address of a page of the guide, such as ``inside``; None if unknown."""
    root = documentation()
    return None if root is None else f"{root}/guide/{name}.html"
