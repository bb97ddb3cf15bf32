"""The base of views with an Idempotency-Key: a repeated request has one effect and one response."""

from collections.abc import Callable, Mapping
from typing import Any
from uuid import UUID

from django.db import IntegrityError, transaction
from django.http import HttpRequest, HttpResponse

from api import idempotency, rate_limit
from api.base_view import ApiResponse, ApiView
from api.idempotency import IdempotencyKey, MissingResponse, StoredResponse
from catalogue.errors import AfterEffectError, DomainError, Error

KILOBYTE = 1000
NOT_STORED = {401, 402, 403, 409, 429, 500, 503}  # statuses of refusals before any effect


# Builds the response of a committed effect from its subject; None if the subject is unknown.
Rebuild = Callable[[UUID], dict[str, Any] | None]


def _no_rebuild(_subject_id: UUID) -> None:
    """Rebuilds nothing, for an effect that commits with its response."""


class IdempotentView(ApiView):
    def idempotency_key(
        self, request: HttpRequest, payload: Mapping[str, Any]
    ) -> IdempotencyKey | None:
        """The request's key; None without one."""
        key = request.META.get("HTTP_IDEMPOTENCY_KEY")
        if key is None:
            return None
        path = request.path.rstrip("/").removeprefix("/api/v1")
        return idempotency.parse(self.principal, path, key, self.hashed_payload(payload))

    def hashed_payload(self, payload: Mapping[str, Any]) -> Mapping[str, Any]:
        """The values that a repeat must send again: their hash is stored with the key."""
        return payload

    def once(
        self, key: IdempotencyKey | None, effect: Callable[[], dict[str, Any]], rebuild: Rebuild
    ) -> HttpResponse:
        """Runs a send, whose statement inserts the key, or replays the stored response.

        A refusal before the effect is not stored.
        """
        if key is None:
            return ApiResponse(effect())
        replay = self._replay(key, rebuild)
        if replay is not None:
            return replay
        try:
            status = 200
            body = effect()
        except AfterEffectError as error:
            status = error.error.status
            body = self.error_body(error)
        except (DomainError, IntegrityError):
            replay = self._replay(key, rebuild)  # a parallel request may have succeeded meanwhile
            if replay is None:
                raise
            return replay
        return self._store(key, status, body)

    def once_atomic(
        self, key: IdempotencyKey | None, effect: Callable[[], dict[str, Any]]
    ) -> HttpResponse:
        """Runs the effect like `once`, but in a transaction: key, effect and response commit
        together.

        A refusal by the effect is stored too, because it may have spent an attempt; invalid fields
        and the statuses in NOT_STORED have spent nothing.
        """
        if key is None:
            return ApiResponse(effect())
        replay = self._replay(key)
        if replay is not None:
            return replay
        try:
            with transaction.atomic():
                self._count_key()
                idempotency.insert(key)
                try:
                    status = 200
                    body = effect()
                except DomainError as error:
                    if error.error is Error.INVALID_INPUT or error.error.status in NOT_STORED:
                        raise
                    status = error.error.status
                    body = self.error_body(error)
                response = self._store(key, status, body)
                self._count_key(len(response.content) // KILOBYTE)
        except IntegrityError:
            replay = self._replay(key)
            if replay is None:
                raise
            return replay
        return response

    def _count_key(self, count: int = 1) -> None:
        """Counts towards the daily quota of test keys. Responses are stored for a day: a long one,
        such as that about a thousand links, counts once more per KILOBYTE.
        """
        if self.principal.is_test and count:
            rate_limit.consume_test_quota(self.principal.company_id, "keys", count)

    def _replay(self, key: IdempotencyKey, rebuild: Rebuild = _no_rebuild) -> HttpResponse | None:
        stored = idempotency.find_response(key)
        match stored:
            case None:
                return None
            case StoredResponse(status, body):
                response = ApiResponse(body, status)
            case MissingResponse(subject_id):
                rebuilt = self._rebuild(subject_id, rebuild)
                if rebuilt is None:
                    raise DomainError(Error.REQUEST_IN_PROGRESS, retry_after=1)
                response = self._store(key, *rebuilt)
        response["Idempotent-Replayed"] = "true"
        return response

    def _store(self, key: IdempotencyKey, status: int, body: dict[str, Any]) -> ApiResponse:
        stored = idempotency.store_response(key, status, ApiResponse(body).text)
        return ApiResponse(stored.body, stored.status)

    def _rebuild(
        self, subject_id: UUID | None, rebuild: Rebuild
    ) -> tuple[int, dict[str, Any]] | None:
        """The response of a request whose process died, rebuilt from its committed effect."""
        if subject_id is None:
            return None
        try:
            body = rebuild(subject_id)
        except AfterEffectError as error:
            return error.error.status, self.error_body(error)
        return None if body is None else (200, body)
