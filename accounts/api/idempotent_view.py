"""The base of API views whose POST accepts an Idempotency-Key."""

from collections.abc import Callable, Mapping
from typing import Any
from uuid import UUID

from django.db import IntegrityError, transaction
from django.http import HttpResponse
from rest_framework.request import Request

from accounts.api import idempotency
from accounts.api.base_view import ApiResponse, ApiView
from accounts.api.idempotency import IdempotencyKey
from config.errors import AfterEffectError, DomainError, Error

NOT_STORED = {401, 402, 403, 409, 429, 500, 503}  # statuses of refusals before any effect


class IdempotentView(ApiView):
    def idempotency_key(
        self, request: Request, payload: Mapping[str, Any]
    ) -> IdempotencyKey | None:
        key = request.META.get("HTTP_IDEMPOTENCY_KEY")
        path = request.path.rstrip("/").removeprefix("/api/v1")
        return idempotency.parse(self.principal, path, key, payload)

    def once(
        self,
        key: IdempotencyKey | None,
        effect: Callable[[], dict[str, Any]],
        rebuild: Callable[[UUID], dict[str, Any] | None],
    ) -> HttpResponse:
        """Run a send, whose statement inserts the key, or replay the stored response.

        A refusal before the effect is not stored; a parallel request with the same key may have
        succeeded meanwhile, and then its response is replayed.
        """
        if key is None:
            return ApiResponse(effect())
        replay = self._replay(key, rebuild)
        if replay is not None:
            return replay
        try:
            status, body = 200, effect()
        except AfterEffectError as error:
            status, body = error.error.status, self.refusal(error)
        except (DomainError, IntegrityError):
            replay = self._replay(key, rebuild)
            if replay is None:
                raise
            return replay
        return self._store(key, status, body)

    def once_atomic(
        self, key: IdempotencyKey | None, effect: Callable[[], dict[str, Any]]
    ) -> HttpResponse:
        """Like `once`, for an effect that runs in a transaction here: key, effect and response
        commit together. A refusal from within is stored too, for it may have spent an attempt.
        """
        if key is None:
            return ApiResponse(effect())
        replay = self._replay(key, lambda _subject: None)
        if replay is not None:
            return replay
        try:
            with transaction.atomic():
                idempotency.insert(key)
                try:
                    status, body = 200, effect()
                except DomainError as error:
                    if error.error.status in NOT_STORED:
                        raise
                    status, body = error.error.status, self.refusal(error)
                response = self._store(key, status, body)
        except IntegrityError:
            replay = self._replay(key, lambda _subject: None)
            if replay is None:
                raise
            return replay
        return response

    def _replay(
        self,
        key: IdempotencyKey,
        rebuild: Callable[[UUID], dict[str, Any] | None],
    ) -> HttpResponse | None:
        found = idempotency.find_response(key)
        match found:
            case None:
                return None
            case idempotency.StoredResponse(status, body):
                response = ApiResponse(body, status)
            case idempotency.MissingResponse(subject_id):
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
        self, subject_id: UUID | None, rebuild: Callable[[UUID], dict[str, Any] | None]
    ) -> tuple[int, dict[str, Any]] | None:
        """The response of a request whose process died, rebuilt from its committed effect."""
        if subject_id is None:
            return None
        try:
            body = rebuild(subject_id)
        except AfterEffectError as error:
            return error.error.status, self.refusal(error)
        return None if body is None else (200, body)
