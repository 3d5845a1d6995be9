"""How Sphinx builds the documentation: `make docs`."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path
from typing import Any

from sphinx.util.nodes import make_refnode

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))  # where a worktree differs from what is installed
sys.path.insert(0, str(HERE / "extensions"))

_PROJECT = tomllib.loads((HERE.parent / "pyproject.toml").read_text())["project"]

project = "nbfn"
author = "the nbfn authors"
project_copyright = f"2026, {author}"
html_title = project

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.extlinks",
    "sphinx.ext.napoleon",
    "generated",
]

_REPOSITORY = _PROJECT["urls"]["Repository"]
_BINDER = _REPOSITORY.replace("https://github.com/", "https://mybinder.org/v2/gh/")
extlinks = {
    "notebook": (f"{_REPOSITORY}/blob/main/notebooks/%s.ipynb", None),
    "binder": (f"{_BINDER}/HEAD?urlpath=lab/tree/notebooks/%s.ipynb", None),
}
exclude_patterns = ["_build", "speed-table.md"]
suppress_warnings = ["config.cache"]

myst_enable_extensions = ["attrs_inline", "deflist"]
myst_heading_anchors = 3

smartquotes = False  # options keep their two hyphens
default_role = "code"  # docstrings write names in single backticks, as Markdown does
add_module_names = False
autodoc_typehints = "none"  # the signatures would be longer than what they describe
autodoc_member_order = "bysource"
napoleon_use_ivar = True
napoleon_use_rtype = False

# Python's own objects, whose index is on a network, and what is no part of the interface.
nitpick_ignore_regex = [
    ("py:class", r"collections\.abc\..*|pathlib\..*|typing\..*|nbfn\.functions\.recording\..*"),
]

html_theme = "furo"
html_baseurl = _PROJECT["urls"]["Documentation"]
html_theme_options = {
    "source_repository": _REPOSITORY,
    "source_branch": "main",
    "source_directory": "docs/",
    "top_of_page_buttons": ["view"],
}
html_copy_source = False
html_show_sourcelink = False


def setup(app: Any) -> None:
    """Registers what is special about these pages."""
    app.connect("source-read", _with_table)
    app.connect("doctree-read", _keep_names)
    app.connect("missing-reference", _by_last_name)


def _with_table(_: Any, name: str, source: list[str]) -> None:
    """Puts the measured table below the page that says what it means, where there is one."""
    table = HERE / "speed-table.md"
    if name == "speed" and table.exists():
        source[0] += f"\n{table.read_text()}"


def _keep_names(_: Any, doctree: Any) -> None:
    """Keeps underscores in the anchors of sections, as messages link to them."""
    for node in doctree.findall(lambda each: getattr(each, "attributes", {}).get("names")):
        node["ids"] += [name for name in node["names"] if "_" in name and name not in node["ids"]]


def _by_last_name(_: Any, env: Any, node: Any, content: Any) -> Any:
    """What a docstring names without its room, as users of the error see it."""
    domain = env.get_domain("py")
    last = node.get("reftarget", "").rpartition(".")[2]
    found = [name for name in domain.objects if name.rpartition(".")[2] == last]
    if node.get("refdomain") != "py" or len(found) != 1:
        return None
    entry = domain.objects[found[0]]
    return make_refnode(env.app.builder, node["refdoc"], entry.docname, entry.node_id, content)
