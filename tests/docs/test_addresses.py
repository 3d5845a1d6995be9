"""Where the documentation is stands in one place, and what shows a cause leads to its section."""

from __future__ import annotations

import importlib.metadata
import re
import tomllib
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote, urlsplit

import pytest
import tensorflow as tf

import nbfn
from nbfn import protocol
from nbfn.functions.traces.cause import Cause
from nbfn.outlines.function_outline import function_outline
from nbfn.outlines.outline import Outline
from nbfn.package import documentation
from nbfn.sessions.messages.feed import feed
from nbfn.views.pages.explanation_outline import explanation_outline
from tests.docs.pages import ROOT

URLS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["urls"]
SECTION = f"{URLS['Documentation']}/causes.html#shape"
LINK = f'<a href="{SECTION}" target="_blank" rel="noopener">'


@pytest.fixture
def metadata(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Has the package's metadata say this, or nothing."""

    def say(found: Any) -> None:
        monkeypatch.setattr("nbfn.package.metadata", found)
        documentation.cache_clear()

    yield say
    documentation.cache_clear()


def retraced() -> Any:
    f = nbfn.function(lambda x: x + 1)
    f(tf.ones([2]))
    f(tf.ones([3]))
    return f


def test_the_installed_package_tells_the_address() -> None:
    assert documentation() == URLS["Documentation"]
    assert Cause("python_value", "").page == f"{URLS['Documentation']}/causes.html#python_value"


def test_a_view_leads_to_the_section_but_its_text_has_no_address() -> None:
    f = retraced()
    outline = function_outline(feed().rows_of(f), f.id)
    assert outline.html().count(LINK) == 3  # of the last call, the trace and the retrace
    assert f"{LINK}<code>x</code>: shape was [2], is [3]</a>" in outline.html()
    assert "https:" not in outline.text()


def test_an_explanation_leads_to_the_section() -> None:
    outline = explanation_outline(retraced().explain(tf.ones([4])), "f(x)")
    assert LINK in outline.html()
    assert "https:" not in outline.text()
    assert outline.record().lines[0].page == SECTION


def gone(name: str) -> Any:
    raise importlib.metadata.PackageNotFoundError(name)


class Metadata(dict[str, Any]):
    def get_all(self, name: str) -> Any:
        return self.get(name)


@pytest.mark.parametrize(
    "found",
    [
        gone,
        lambda _: Metadata(),
        lambda _: Metadata({"Project-URL": ["Documentation, javascript:alert(1)"]}),
        lambda _: Metadata({"Project-URL": ["Repository, https://example.org"]}),
    ],
)
def test_without_an_address_there_are_no_links(found: Any, metadata: Any) -> None:
    metadata(found)
    f = retraced()
    assert f.retraces[-1].causes[0].page is None
    assert "<a " not in function_outline(feed().rows_of(f), f.id).html()


def test_only_https_becomes_a_link() -> None:
    words = protocol.Phrase(text="here", page="javascript:alert(1)")
    assert "<a " not in Outline("title", [words]).html()


def test_the_badges_of_the_readme_are_of_these_addresses() -> None:
    readme = (ROOT / "README.md").read_text()
    badges = dict(re.findall(r"^\[!\[(\w+)\]\([^)]*\)\]\(([^)]*)\)$", readme, re.MULTILINE))
    repository = urlsplit(URLS["Repository"]).path.strip("/")
    assert badges["Documentation"] == URLS["Documentation"]
    assert badges["Binder"].startswith(f"https://mybinder.org/v2/gh/{repository}/HEAD?urlpath=lab/")
    notebook = badges["Binder"].partition("lab/tree/")[2]
    assert (ROOT / notebook).is_file()
    shown = quote(URLS["Documentation"].removeprefix("https://"), safe="").replace("-", "--")
    assert f"badge/docs-{shown}-" in readme


def test_the_addresses_stand_nowhere_else_in_code() -> None:
    code = [*(ROOT / "nbfn").rglob("*.py"), *(ROOT / "labextension/src").rglob("*.ts*")]
    for path in code:
        text = path.read_text()
        assert "nbfn.github.io" not in text, path
        assert URLS["Repository"] not in text, path
