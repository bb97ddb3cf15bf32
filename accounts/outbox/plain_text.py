"""The subject of an e-mail and its words where no HTML is shown, both taken from its HTML.

So each e-mail has one template. What strangers wrote is escaped in it, and its line ends are spaces
as in HTML: here too it can neither begin a line nor add a header.
"""

import re
from html.parser import HTMLParser

BLOCKS = {"p", "ul", "td"}
BLOCK_END = "\f"  # no text has one: see SPACES
BEFORE = {"br": "\n", "li": "\n– ", "tfoot": "—\n"}
# Everything that may end a line; not the spaces that do not break.
SPACES = re.compile(r"[^\S\xa0\u202f]+")
BREAKS = re.compile(rf" *[\n{BLOCK_END}][ \n{BLOCK_END}]*")


def subject_and_text(html: str) -> tuple[str, str]:
    letter = _Letter()
    letter.feed(html)
    letter.close()
    said = re.sub(" +", " ", "".join(letter.said))
    text = BREAKS.sub(lambda found: "\n\n" if BLOCK_END in found[0] else "\n", said)
    # An address or a list stands right below the sentence that leads to it.
    return letter.subject, text.replace(":\n\n", ":\n").strip()


class _Letter(HTMLParser):
    """Reads our own templates alone: closed elements, none of `html-only` within its like."""

    def __init__(self) -> None:
        super().__init__()
        self.subject = ""
        self.said: list[str] = []
        self._left_out = ""
        self._address, self._label_from = "", 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if self._left_out:
            return
        values = dict(attrs)
        if tag == "style" or "html-only" in (values.get("class") or ""):
            self._left_out = tag
        elif tag == "a":
            self._address = (values.get("href") or "").removeprefix("mailto:")
            self._label_from = len(self.said)
        else:
            self.said.append(BEFORE.get(tag, ""))

    def handle_data(self, data: str) -> None:
        if not self._left_out:
            self.said.append(SPACES.sub(" ", data))

    def handle_endtag(self, tag: str) -> None:
        if self._left_out:
            self._left_out = "" if tag == self._left_out else self._left_out
        elif tag == "title":
            self.subject = "".join(self.said).strip()
            self.said.clear()
        elif tag == "a":
            label = "".join(self.said[self._label_from :]).strip()
            if label != self._address:
                self.said[self._label_from :] = ["\n", label, ": ", self._address]
        elif tag in BLOCKS:
            self.said.append(BLOCK_END)
