"""Deletion of expired rows, of which one that the database keeps holds no other back."""

from typing import Any

from django.db import models
from django.utils.translation import gettext_lazy as _

from accounts.jobs.isolation import Job

JOB = Job("purges", _("deletion of expired data"))


def delete_rows(rows: models.QuerySet[Any], limit: int) -> int:
    """Deletes so many rows, in their order, with what hangs on them; returns how many."""
    model = rows.model
    label = model._meta.label  # noqa: SLF001 - public in Django
    kept = [name.partition(":") for name in JOB.waiting()]
    due = rows.exclude(pk__in=[pk for of, _colon, pk in kept if of == label])
    found = list(due.values_list("pk", flat=True)[:limit])
    deleted = 0

    def delete(ids: Any) -> None:
        nonlocal deleted
        model._default_manager.filter(pk__in=ids).delete()  # noqa: SLF001 - public in Django
        deleted += len(ids)

    JOB.together(found, delete, key=lambda pk: (label, pk))
    return deleted
