"""A page as a browser's parser sees it, without a browser: balanced tags, texts, attributes."""

from __future__ import annotations

from html.parser import HTMLParser

VOID = {"meta", "link", "br", "input", "img", "wbr"}


class Page(HTMLParser):
    """Collects texts, tags and attributes; `unbalanced` lists tags that do not close where they should."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.unbalanced: list[str] = []
        self.texts: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.unbalanced.append(tag)

    def handle_data(self, data: str) -> None:
        self.texts.append(data)

    @property
    def text(self) -> str:
        return "".join(self.texts)

    def count(self, tag: str) -> int:
        return sum(name == tag for name, _ in self.tags)
