"""Strangers' input stays in no process's memory."""

import ast
import functools
import gc
from collections.abc import Iterator

import pytest

from catalogue.languages import page_languages, tags
from links.follow.redirect import RedirectMiddleware
from parsing.text_cache import LONGEST
from processes.server import client_ip, https, wsgi_environ
from processes.server.direct_calls import DirectCalls
from tests.packages import PACKAGES, ROOT

# Caches by our own values, or by texts that something bounds before.
OF_SHORT_TEXTS = {
    "accounts/keys/principal.py": {"_network"},  # of a company's settings
    "accounts/people/time_zones.py": {"_zone_names", "_older_names"},
    "api_docs/pages/articles.py": {"visitor_html"},  # our articles
    "api_docs/pages/samples.py": {"highlighted"},
    "catalogue/languages/matching.py": {"match_canonical"},  # of canonical tags
    "channels/phone_numbers.py": {
        *("normalise", "_parsed"),  # longer than any phone: refused, which no cache keeps
        *("country_of", "spellings", "is_landline"),  # E.164
    },
    "parsing/plain_numbers.py": {"_region_of"},
    "channels/routing/smart/plans.py": {"choose"},
    "compat/dialect.py": {"derived_id"},
    "compat/view.py": {"_as_declared"},  # our routes
    "storage/atomic_limits.py": {"hashed"},  # phones, addresses
    "storage/key_rings.py": {"_fernet"},
    "storage/months/recent_ids.py": {"limit_to_months", "_months_of_last", "ids_of"},
    "storage/statements/single_statement.py": {"_number_parameters"},
}


def _names_of_caches(source: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef) and any(
            "lru_cache" in ast.unparse(decorator) for decorator in node.decorator_list
        ):
            yield node.name


def test_every_cache_by_outside_text_is_of_short_ones() -> None:
    files = [path for folder in PACKAGES for path in (ROOT / folder).rglob("*.py")]
    named = {
        str(path.relative_to(ROOT)): set(_names_of_caches(path.read_text(encoding="utf-8")))
        for path in files
    }

    assert {path: names for path, names in named.items() if names} == OF_SHORT_TEXTS


def _longest_kept() -> int:
    caches = [it for it in gc.get_objects() if type(it) is functools._lru_cache_wrapper]
    kept = [it for cache in caches for it in gc.get_referents(cache) if isinstance(it, dict)]
    return max(len(str(key)) for keys in kept for key in keys if isinstance(key, str | list))


@pytest.mark.django_db
def test_long_header_or_path_is_in_no_cache() -> None:
    long = "a" * 20 * LONGEST
    unanswered = RedirectMiddleware(lambda _environ, _start: [])

    page_languages.preferred(long)
    tags.canonical(long)
    client_ip.client_network(long)
    https._https_headers(long)
    wsgi_environ._environ_key(long)
    DirectCalls(lambda _environ, _start: [], [])._match(f"/api/v1/{long}")
    unanswered.respond_early({"REQUEST_METHOD": "GET", "PATH_INFO": "/abcd", "HTTP_HOST": long})

    assert _longest_kept() < 2 * LONGEST
