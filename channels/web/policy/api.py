"""GET and PUT /policy, and GET /policy/preview."""

from collections.abc import Mapping
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from accounts.models import Company
from api.base_view import ApiView
from api.request_fields import REQUIRED, QueryFields, RequestFields
from catalogue.errors import DomainError, Error
from catalogue.languages import tags
from catalogue.texts import StrOrPromise
from channels import phone_numbers
from channels.routing import plan_preview, stored_rules
from channels.routing.stored_rules import StoredRule
from channels.web.fields import DEFAULT_PURPOSE
from channels.web.policy.calls import (
    FOR_PURPOSE,
    GET_POLICY,
    MATCHED,
    OF_KIND,
    OF_PHONE,
    PREVIEW_POLICY,
    PUT_POLICY,
    RULE,
    RULES,
    STEP,
)
from processes.server.client_ip import client_ip

NOT_IN_TEST = _("The rules hold for live messages, too: replace them with a live key")
TYPES: dict[str, tuple[type, StrOrPromise]] = {
    "boolean": (bool, _("true or false")),
    "string": (str, _("a string")),
    "array": (list, _("an array")),
    "object": (dict, _("an object")),
    "integer": (int, _("an integer")),
}


class Policy(ApiView):
    calls = (GET_POLICY, PUT_POLICY)

    def get(self, request: HttpRequest) -> HttpResponse:
        return self._rules(Company.objects.get(pk=self.principal.company_id))

    def put(self, request: HttpRequest) -> HttpResponse:
        if self.principal.is_test:  # the rules apply to live messages, too
            raise DomainError(Error.FORBIDDEN, message=NOT_IN_TEST)
        fields = RequestFields(self.payload(request))
        if fields.payload.get(RULES.name) is None:
            fields.add_error(RULES, REQUIRED)
        rules = [] if fields.errors else fields.array(RULES)
        fields.check()
        company = Company.objects.get(pk=self.principal.company_id)
        stored_rules.replace_rules(
            company=company, rules=_parse(rules), user=None, ip=client_ip(request.META)
        )
        company.refresh_from_db(fields=["policy"])
        return self._rules(company)

    def _rules(self, company: Company) -> HttpResponse:
        rules = [RULE.body_of(rule) for rule in stored_rules.rules_of(company)]
        return self.respond({RULES.name: rules})


class PreviewPolicy(ApiView):
    calls = (PREVIEW_POLICY,)

    def get(self, request: HttpRequest) -> HttpResponse:
        query = QueryFields(request.GET)
        phone = query.text(OF_PHONE)
        purpose = query.text(FOR_PURPOSE)
        kind = query.text(OF_KIND) or "code"
        query.check()
        number = phone_numbers.normalise(phone or "", self.principal.country)
        preview = plan_preview.preview(
            self.principal, number, kind=kind, purpose=purpose or DEFAULT_PURPOSE
        )
        if preview.refusal:
            raise preview.refusal
        body = {
            "phone": number,
            "country": preview.country or None,
            "locale": preview.locale,
            "steps": [STEP.body_of(step) for step in preview.steps],
            "barred": [channel.name for channel in preview.barred],
            "rules": [MATCHED.body_of(StoredRule(*key)) for key in preview.rules],
        }
        return self.respond(body)


def _parse(items: list[Any]) -> list[StoredRule]:
    """Checks the types; the use case checks the values."""
    errors: list[StrOrPromise] = []
    rules: list[StoredRule] = []
    for number, rule in enumerate(items, start=1):
        faults = _type_faults(rule)
        errors += [format_lazy("{number}: {fault}", number=number, fault=fault) for fault in faults]
        if not faults:
            rules.append(_rule(rule))
    if errors:
        raise DomainError(Error.INVALID_INPUT, errors={RULES.name: errors})
    return rules


def _type_faults(rule: object) -> list[StrOrPromise]:
    if not isinstance(rule, Mapping):
        return [_("Each rule is an object.")]
    # A misspelled name would silently set nothing.
    faults: list[StrOrPromise] = [
        format_lazy(_("unknown field “{name}”"), name=str(name)[:40])
        for name in rule.keys() - {field.name for field in RULE}
    ]
    for field in RULE:
        kind, title = TYPES[field.schema["type"]]
        value = rule.get(field.name)
        if value is not None and not _is_a(value, kind):
            faults.append(format_lazy(_("“{name}” must be {kind}"), name=field.name, kind=title))
    for name in ("channels", "barred"):
        if not faults and not all(isinstance(item, str) for item in rule.get(name) or []):
            faults.append(format_lazy(_("“{name}” must be {kind}"), name=name, kind=_("strings")))
    if not faults and not all(_is_a(wait, int) for wait in (rule.get("patience") or {}).values()):
        faults.append(format_lazy(_("“{name}” must be {kind}"), name="patience", kind=_("numbers")))
    return faults


def _is_a(value: object, kind: type) -> bool:
    return isinstance(value, kind) and (kind is bool or not isinstance(value, bool))


def _rule(rule: Mapping[str, Any]) -> StoredRule:
    """A rule with its language in the letter case of BCP 47; the use case refuses invalid tags."""
    values = {name: value for name, value in rule.items() if value is not None}
    country = values.get("country", "")
    tag = values.get("locale", "")
    locale = tags.canonical(tag) or tag
    return StoredRule(**values | {"country": country.upper(), "locale": locale})
