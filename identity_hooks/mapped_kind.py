"""A kind whose server sends JSON that a ready mapping reads."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from catalogue.texts import StrOrPromise
from identity_hooks import mapping as mappings
from identity_hooks import played_by_mapping
from identity_hooks.kind import Kind, Setting


def mapped_kind(
    name: str,
    title: str,
    *,
    source: str,
    mapping: Mapping[str, Any],
    settings: tuple[Setting, ...],
    notes: tuple[StrOrPromise, ...] = (),
) -> Kind:
    return Kind(
        name=name,
        title=title,
        source=source,
        check=mappings.check_of(mapping),
        is_checked_by_headers=mapping.get("auth", "token") == "token",
        secrets=mappings.secrets_of(mapping),
        read=partial(mappings.read_by, mapping),
        play=partial(played_by_mapping.play_by, mapping),
        finds_code_in_text="text" in mapping,
        settings=settings,
        notes=notes,
    )
