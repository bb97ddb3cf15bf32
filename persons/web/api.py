"""GET /persons/export and POST /persons/erase: the data of the key's company and mode."""

from typing import Any

from django.http import HttpRequest, HttpResponse

from accounts.keys.principal import Principal
from api.base_view import ApiView
from api.idempotent_view import IdempotentView
from api.request_fields import REQUIRED, QueryFields, RequestFields
from catalogue.errors import DomainError, Error, invalid_input
from channels import phone_numbers
from channels.web.fields import PHONE
from persons.erasure import NotFinishedError, erase
from persons.export import PERSON_SEARCHES, export
from persons.person import Person
from persons.web.calls import ERASE, ERASED, EXPORT, PERSON
from processes.server.client_ip import client_ip


class ExportPerson(ApiView):
    calls = (EXPORT,)

    def get(self, request: HttpRequest) -> HttpResponse:
        query = QueryFields(request.GET)
        phone = query.text(PERSON)
        query.check()
        if not phone:
            raise invalid_input(phone=REQUIRED)
        person = _person(self.principal, phone)
        with PERSON_SEARCHES.turn(person.company_id):
            data = export(person=person, ip=client_ip(request.META))
        return self.respond(data)


class ErasePerson(IdempotentView):
    """The stored response of a request with an Idempotency-Key contains no phone."""

    calls = (ERASE,)

    def post(self, request: HttpRequest) -> HttpResponse:
        payload = self.payload(request)
        fields = RequestFields(payload)
        phone = fields.text(PHONE)
        fields.check()
        person = _person(self.principal, phone or "")

        def effect() -> dict[str, Any]:
            try:
                counts = erase(person=person, ip=client_ip(request.META))
            except NotFinishedError as busy:
                raise DomainError(Error.PERSON_BUSY, retry_after=busy.seconds) from None
            return self.success({"erased": {field.name: counts[field.name] for field in ERASED}})

        with PERSON_SEARCHES.turn(person.company_id):
            return self.once_atomic(self.idempotency_key(request, payload), effect)


def _person(principal: Principal, phone: str) -> Person:
    e164 = phone_numbers.normalise(phone, principal.country)
    return Person(e164, principal.company_id, principal.mode)
