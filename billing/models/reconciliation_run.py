"""How far a check of all the books has come."""

from django.db import models
from django.db.models.functions import Now


class ReconciliationRun(models.Model):
    """A check of everything in bounded portions: whoever is killed is followed by another."""

    started_at = models.DateTimeField(db_default=Now())
    finished_at = models.DateTimeField(null=True)
    position = models.JSONField(default=dict)  # where the next portion begins
    breaches = models.JSONField(default=list)  # [check, subject]

    class Meta:
        constraints = [
            models.UniqueConstraint(
                models.ExpressionWrapper(models.Q(finished_at=None), models.BooleanField()),
                condition=models.Q(finished_at=None),
                name="one_unfinished_reconciliation",
            )
        ]

    def __str__(self) -> str:
        return f"{self.started_at}: {self.position}"
