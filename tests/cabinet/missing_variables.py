"""Templates in which a variable that no view provides shows itself instead of being empty."""

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.conf import settings
from django.test import override_settings

MISSING = "[[missing: %s]]"


@contextmanager
def show_missing_variables() -> Iterator[None]:
    """Applies to a whole module, since each use compiles the templates again."""
    templates: list[Any] = copy.deepcopy(settings.TEMPLATES)
    for engine in templates:
        engine["OPTIONS"]["string_if_invalid"] = MISSING
    with override_settings(TEMPLATES=templates):
        yield
