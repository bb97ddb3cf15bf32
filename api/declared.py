"""Declarations of the API, which the packages below it read."""

from accounts.purges import PURGERS, delete_rows
from api import request_log
from api.models import IdempotentRequest

PURGERS += [
    lambda limit: delete_rows(IdempotentRequest.objects.expired().order_by("created_at"), limit),
    request_log.purge,
]
