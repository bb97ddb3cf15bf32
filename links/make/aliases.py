"""Frees the aliases of dead links, so that new links can have them."""

from collections.abc import Sequence
from typing import Any

from django.db import connection

from links import sql
from links.make.new_link import Owner


def retire_aliases(owner: Owner, keys: Sequence[str]) -> None:
    if not keys:
        return
    own: dict[str, Any] = {"company_id": owner.company_id, "mode": owner.mode}
    with connection.cursor() as cursor:
        cursor.execute(sql.RETIRE, own | {"keys": keys})
