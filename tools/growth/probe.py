"""Who measures: a key of the largest company, a member of it, and an operator."""

import json
from dataclasses import dataclass
from itertools import count
from typing import Any

from django.test import Client

from accounts.models import Company, Member, Mode, User
from accounts.people import companies
from tools.demo.senders import NAME

EMAIL = "growth@example.com"
_phones = count(9_000_000)


@dataclass(frozen=True)
class Probe:
    company: Company
    key: str
    browser: Client  # signed in as an owner who is an operator as well

    def post(self, path: str, body: dict[str, Any], **headers: str) -> Any:
        answer = Client().post(
            f"/api/v1{path}",
            json.dumps(body),
            content_type="application/json",
            headers={"Authorization": f"Bearer {self.key}"} | headers,
        )
        return _ok(path, answer).json()

    def get(self, path: str) -> Any:
        headers = {"Authorization": f"Bearer {self.key}"}
        return _ok(path, Client().get(f"/api/v1{path}", headers=headers)).json()

    def new_phone(self) -> str:
        return f"+7000{next(_phones)}"


def _ok(path: str, answer: Any) -> Any:
    if answer.status_code != 200:
        raise RuntimeError(f"{path} answered {answer.status_code}: {answer.content[:300]!r}")
    return answer


def make() -> Probe:
    company = Company.objects.get(name=NAME.format(0))
    user = User.objects.filter(email=EMAIL).first()
    user = user or User.objects.create_superuser(email=EMAIL, language="en")
    Member.objects.get_or_create(company=company, user=user, role=Member.Role.OWNER)
    for old in company.api_keys.active().filter(name="growth"):
        companies.revoke_api_key(key=old, user=user)
    _key, text = companies.create_api_key(company=company, user=user, mode=Mode.LIVE, name="growth")
    browser = Client(raise_request_exception=False)
    browser.force_login(user)
    return Probe(company, text, browser)
