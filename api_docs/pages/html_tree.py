"""Our own pages read back as a tree of elements."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser

VOID = {"br", "hr", "img", "input", "link", "meta", "use"}
_CHROME = {"button", "svg", "nav", "form"}  # nothing in them is said


@dataclass
class Element:
    tag: str
    attributes: dict[str, str] = field(default_factory=dict)
    children: list["Element | str"] = field(default_factory=list)

    def elements(self) -> Iterator["Element"]:
        """It and all that are in it, in order."""
        yield self
        for child in self.children:
            if isinstance(child, Element):
                yield from child.elements()

    @property
    def text(self) -> str:
        return "".join(one if isinstance(one, str) else one.text for one in self.children)

    @property
    def is_silent(self) -> bool:
        return self.tag in _CHROME or self.attributes.get("class") == "anchor"


class _Builder(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.root = Element("article")
        self._open = [self.root]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        element = Element(tag, {name: value or "" for name, value in attrs})
        if not element.is_silent:
            self._open[-1].children.append(element)
        if tag not in VOID:
            self._open.append(element)

    def handle_endtag(self, tag: str) -> None:
        if tag in VOID:  # `<use/>` says that it ends, and was never opened
            return
        while len(self._open) > 1 and self._open.pop().tag != tag:
            pass

    def handle_data(self, data: str) -> None:
        self._open[-1].children.append(data)


def parse(html: str) -> Element:
    builder = _Builder()
    builder.feed(html)
    return builder.root
