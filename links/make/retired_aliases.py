"""Frees the aliases of dead links: at once for their company, after 90 days for others."""

from collections.abc import Mapping, Sequence
from typing import Any

from channels import sql as channels_sql
from links import sql
from links.addresses import short_hosts
from links.make.new_link import Owner
from storage.statements import sql_files
from storage.statements.queries import execute, fetch_column

_RETIRE_ALIAS = sql_files.read("links/make/retire_alias.sql")


def retire_aliases(owner: Owner, rows: Sequence[Mapping[str, Any]]) -> set[str]:
    """Frees the aliases of dead links for new links.

    Returns the keys of the aliases that equal a generated slug, whose link visitors would get
    instead.
    """
    if not rows:
        return set()
    aliases_by_key = {short_hosts.key(row["host_id"], row["slug"]): row["key"] for row in rows}
    values: dict[str, Any] = {"company_id": owner.company_id, "mode": owner.mode}
    execute(
        channels_sql.in_changeable_months(_RETIRE_ALIAS),
        values | {"keys": list(aliases_by_key.values())},
    )
    return {
        aliases_by_key[key] for key in fetch_column(sql.GENERATED, {"keys": list(aliases_by_key)})
    }
