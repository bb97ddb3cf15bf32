"""Reads the forms and the addresses of a page, and fills a form in as a person would."""

from dataclasses import dataclass, field
from datetime import date
from html.parser import HTMLParser

GUESSES = {
    "email": "person@example.com",
    "url": "https://example.com/",
    "tel": "+79161234567",
    "number": "1",
    "date": date.today().isoformat(),  # noqa: DTZ011 - any day will do
    "datetime-local": "",
    "password": "correct horse 42",
}
BUTTONS = {"submit", "button", "image", "reset"}


@dataclass
class Form:
    action: str
    method: str
    values: dict[str, list[str]] = field(default_factory=dict)  # as it would be sent, by name
    files: set[str] = field(default_factory=set)
    buttons: list[tuple[str, str]] = field(default_factory=list)


class Page(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.forms: list[Form] = []
        self.addresses: list[str] = []
        self._form: Form | None = None
        self._select = ""
        self._textarea = ""
        self._options: list[tuple[str, bool]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: text or "" for name, text in attrs}
        self.addresses += [
            given[attribute] for attribute in ("href", "hx-get") if given.get(attribute)
        ]
        if tag == "form":
            self._form = Form(given.get("action", ""), given.get("method", "get").lower())
            self.forms.append(self._form)
        elif self._form is None:
            return
        elif tag in {"input", "button"}:
            self._input(self._form, given, tag)
        elif tag == "select":
            self._select = given.get("name", "")
            self._options = []
        elif tag == "option" and self._select:
            self._options.append((given.get("value", ""), "selected" in given))
        elif tag == "textarea":
            self._textarea = given.get("name", "")
            self._form.values.setdefault(self._textarea, [""])

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self._form = None
        elif tag == "select" and self._form is not None and self._select:
            self._end_select(self._form)
        elif tag == "textarea":
            self._textarea = ""

    def handle_data(self, data: str) -> None:
        if self._textarea and self._form is not None:
            self._form.values[self._textarea][0] += data

    def _end_select(self, form: Form) -> None:
        chosen = [value for value, is_chosen in self._options if is_chosen and value]
        first = [value for value, _is_chosen in self._options if value][:1]
        form.values.setdefault(self._select, chosen or first or [""])
        self._select = ""

    @staticmethod
    def _input(form: Form, given: dict[str, str], tag: str) -> None:
        name = given.get("name", "")
        kind = given.get("type", "submit" if tag == "button" else "")
        if not name:
            return
        if kind in BUTTONS:
            form.buttons.append((name, given.get("value", "")))
        elif kind == "file":
            form.files.add(name)
        elif kind in {"checkbox", "radio"}:
            several = form.values.setdefault(name, [])
            if "checked" in given or not several:
                several[:] = [*several, given.get("value", "on")][-1 if kind == "radio" else 0 :]
        else:
            form.values[name] = [given.get("value") or GUESSES.get(kind, "Abc")]
