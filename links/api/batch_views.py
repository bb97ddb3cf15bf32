"""POST /links/bulk, and the links of one such request taken together."""

from typing import Any

from django.http import HttpResponse
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _
from rest_framework.request import Request

from accounts.api.fields import body_of
from accounts.api.request_fields import RequestFields
from accounts.client_ip import client_ip
from config.errors import DomainError, Error
from config.ids import public_id, uuid7
from config.texts import StrOrPromise
from links.api import parsing
from links.api.batch_calls import BULK, LINKS, RELEASE, STOP
from links.api.fields import ADDRESS
from links.api.link_views import LinkView
from links.make import bulk
from links.make.new_link import NewLink
from links.manage import batches
from links.models import Link

BULK_BODY = 2500 * 1024  # bytes: a thousand of the longest URLs
NOT_AN_OBJECT = _("Must be an object with a url")


class BulkLinks(LinkView):
    calls = (BULK,)
    max_body = BULK_BODY

    def post(self, request: Request) -> HttpResponse:
        payload = self.payload(request)
        fields = RequestFields(payload)
        items = fields.array(LINKS)
        fields.check()
        wanted, batch_id = [self._wanted(item) for item in items], uuid7()

        def effect() -> dict[str, Any]:
            good = [one for one in wanted if isinstance(one, NewLink)]
            links = bulk.shorten_many(owner=self.principal, wanted=good, batch_id=batch_id)
            made = iter(links)
            results = [next(made) if isinstance(one, NewLink) else one for one in wanted]
            data = [self._result(*both) for both in zip(results, wanted, strict=True)]
            is_new = any(isinstance(one, Link) and not one.was_there for one in links)
            batch = public_id("bat", batch_id) if is_new else None
            message = self._message(data)
            return self.success({"message": message, "batch": batch, "data": data})

        return self.once_atomic(self.idempotency_key(request, payload), effect)

    def _wanted(self, item: object) -> NewLink | DomainError:
        if not isinstance(item, dict):
            return DomainError(Error.INVALID_INPUT, message=NOT_AN_OBJECT)
        try:
            found = RequestFields(item)
            link = parsing.reusable_link(found, self.principal)
            found.check()
        except DomainError as refused:
            return refused
        assert link is not None  # noqa: S101 - `check` raises where it is
        return link

    def _result(self, made: Link | DomainError, wanted: NewLink | DomainError) -> dict[str, Any]:
        if isinstance(made, Link) and isinstance(wanted, NewLink):
            reused = {"expires_in": wanted.seconds_left(made), "reused": made.was_there}
            return {"success": True, **body_of(made, ADDRESS), **reused}
        assert isinstance(made, DomainError)  # noqa: S101 - what was refused was not made
        body = made.body(request_id=self.request_id)
        del body["request_id"]  # that of the whole request
        return body

    def _message(self, data: list[dict[str, Any]]) -> StrOrPromise:
        made = sum(one["success"] for one in data)
        return format_lazy(_("Links created: {made} of {total}"), made=made, total=len(data))


class Batch(LinkView):
    calls = (STOP,)

    def delete(self, request: Request, public_id: str) -> HttpResponse:
        ip = client_ip(request.META)
        batches.stop(owner=self.principal, public_id=public_id, ip=ip)
        return self.answer({"batch": public_id})


class ReleaseBatch(LinkView):
    calls = (RELEASE,)

    def post(self, request: Request, public_id: str) -> HttpResponse:
        idempotency_key = self.idempotency_key(request, self.payload(request))

        def effect() -> dict[str, Any]:
            ip = client_ip(request.META)
            batches.release(owner=self.principal, public_id=public_id, ip=ip)
            return self.success({"batch": public_id})

        return self.once_atomic(idempotency_key, effect)
