"""HTML as tests read it: its texts, tags and addresses."""

from __future__ import annotations

from html.parser import HTMLParser

_EMPTY = frozenset({"meta", "link", "img", "br", "progress", "hr", "input"})


class Page(HTMLParser):
    """What some HTML holds; its elements must be closed in order.

    Of `text`, white space is a space; what scripts and styles hold is no part of it.
    """

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[dict[str, str]] = []
        self.summaries: list[str] = []
        self.scripts: dict[str | None, str] = {}
        self._open: list[tuple[str, str | None]] = []
        self._texts: list[str] = []
        self.feed(html)
        assert self._open == []
        self.text = " ".join(" ".join(self._texts).split())

    def all(self, *names: str) -> list[str]:
        """The values of some attributes."""
        return [each[name] for each in self.attributes for name in names if name in each]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes.append({name: value or "" for name, value in attrs})
        if tag not in _EMPTY:
            self._open.append((tag, self.attributes[-1].get("id")))

    def handle_endtag(self, tag: str) -> None:
        assert tag in _EMPTY or self._open.pop()[0] == tag

    def handle_data(self, data: str) -> None:
        tag, id = self._open[-1] if self._open else ("", None)
        if tag == "script":
            self.scripts[id] = data
        elif tag != "style":
            self._texts.append(data)
        if tag == "summary":
            self.summaries.append(data)
