"""What the cabinet's search can find: each package registers its sources and pages at start.

A source makes one bounded query by an index, within the member's company, and finds nothing that
the member's role may not open.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from django.conf import settings
from django.urls import reverse
from django.utils import translation
from django.utils.translation import gettext_lazy as _

from accounts.models import Member
from accounts.people.roles import Allows, anyone
from config.input.characters import one_line
from config.texts import StrOrPromise

LONGEST = 200  # characters of what is searched for
MOST_HITS = 5  # of one source


@dataclass(frozen=True, slots=True)
class Hit:
    title: str
    url: str
    detail: StrOrPromise = ""
    is_exact: bool = False  # an id or a number names it, and nothing else


@dataclass(frozen=True, slots=True)
class Source:
    title: StrOrPromise
    find: Callable[[Member, str], list[Hit]]
    allows: Allows = anyone


@dataclass(frozen=True, slots=True)
class Page:
    """A page that is found by its title, or by other words for what it is about."""

    name: str  # of its URL
    title: StrOrPromise
    words: StrOrPromise = ""  # separated by commas
    allows: Allows = anyone

    def matches(self, text: str) -> bool:
        """In any language of the service: people type the word that they know."""
        return any(self._matches_in(language, text) for language, _name in settings.LANGUAGES)

    def _matches_in(self, language: str, text: str) -> bool:
        with translation.override(language):
            names = [str(self.title), *str(self.words).split(",")]
        return any(_begins_a_word(name.strip().lower(), text) for name in names if name)


@dataclass(frozen=True, slots=True)
class Group:
    """The hits of one source."""

    title: StrOrPromise
    hits: list[Hit]


_sources: list[Source] = []
_pages: list[Page] = []


def register_source(source: Source) -> None:
    _sources.append(source)


def register_pages(*pages: Page) -> None:
    _pages.extend(pages)


def find(member: Member, text: str) -> list[Group]:
    """What this member may open, exact hits first; nothing for an empty text."""
    wanted = clean(text)
    groups = [group for group in _groups(member, wanted) if group.hits] if wanted else []
    return sorted(groups, key=lambda group: not any(hit.is_exact for hit in group.hits))


def clean(text: str) -> str:
    """No id is longer."""
    return one_line(text)[:LONGEST]


def only_exact(groups: list[Group]) -> Hit | None:
    """The hit that can be opened at once: the text is its id or number, and of nothing else."""
    exact = [hit for group in groups for hit in group.hits if hit.is_exact]
    return exact[0] if len(exact) == 1 else None


def _groups(member: Member, text: str) -> Iterator[Group]:
    yield Group(_("Pages"), _pages_found(member, text))
    for source in _sources:
        if source.allows(member):
            yield Group(source.title, source.find(member, text)[:MOST_HITS])


def _pages_found(member: Member, text: str) -> list[Hit]:
    wanted = text.lower()
    found = (page for page in _pages if page.allows(member) and page.matches(wanted))
    return [Hit(str(page.title), reverse(page.name)) for page in found][:MOST_HITS]


def _begins_a_word(name: str, text: str) -> bool:
    return name.startswith(text) or f" {text}" in name
