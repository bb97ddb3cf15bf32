"""Names of brands and companies, which strangers read in messages and e-mails, hold no links."""

import re
from unicodedata import category

import pytest
from django.conf import settings
from django.core.exceptions import ValidationError
from django.test import Client
from django.urls import reverse

from accounts.models import Company, Mail, Member
from accounts.names import is_valid_brand, validate_company_name
from accounts.outbox import mail
from tests.factories import MemberFactory
from tests.reauthentication import mark_reauthenticated

pytestmark = pytest.mark.django_db
LEADING = [
    "https://evil.example/login",
    "hxxps://evil.example",
    "www.evil.example",
    "evil.com",
    "Prize: evil.com!",
    "EVIL.RU",
    "evil1.kz",
    "evil-shop.site",
    "сбербанк.рф",
    "sber.vip",
    "Sber.Bank",
    "evil.security",
    "evil.xn--q9jyb4c",
    "evil.xn--p1ai",
    "evil．com",
    "evil․com",
    "evil。com",
    "e\u0301vil.com",
    "evil.example/x",
    "evil.example:8080",
    "192.0.2.17",
    "me@evil.example",
    "me＠evil.example",
    "8 800 555-35-35",
    "+7 (916) 123-45-67",
    "８８００５５５３５３５",
    "Daisy\nBcc: all@evil.example",
    "Daisy\r\n\r\nYour code is 1234",
    "Daisy\u2028Your code",
    "Daisy\u202emoc.live",
    "Dai\u200bsy",
    "Daisy\x1b[31m",
]
ORDINARY = [
    "Ромашка",
    "ООО «Ромашка-2026»",
    "ИП Иванов И.И.",
    "И.П.Иванов",
    "Аптека 36,6",
    "M&M's",
    "Dr.Web",
    "1С:Франчайзи",
    "S.A. Kvant",
    "5 звёзд",
    "Школа № 1234",
    "Қазақ Tech & Co",
]


@pytest.mark.parametrize(
    "brand",
    [
        "",
        "Ромашка",
        "Kaspi.kz",
        "Кремль.рф",
        "Яндекс Go",
        "ООО «Ромашка-2026»",
        "Аптека 36,6",
        "M&M's",
        "5 звёзд",
    ],
)
def test_ordinary_brand_names_are_valid(brand: str) -> None:
    assert is_valid_brand(brand)


@pytest.mark.parametrize(
    "brand",
    [
        "evil.example/login",
        "https://evil.example",
        "www.evil.example",
        "evil\ufe0f.example/x",
        "evil․example/x",
        "me@evil.example",
        "8 800 555 35 35",
        "8–800–555–35–35",
        "8_800_555_35_35",
        "аpple.com",
        "gооgle.com Support",
        "first\nsecond",
        "a\u202eb",
    ],
)
def test_brand_names_with_links_or_phones_are_invalid(brand: str) -> None:
    assert not is_valid_brand(brand)


@pytest.mark.parametrize("name", LEADING)
def test_company_name_with_a_link_is_refused(name: str) -> None:
    with pytest.raises(ValidationError) as refused:
        validate_company_name(name)

    assert refused.value.code == "company_name"


def test_sign_up_says_how_a_company_may_be_called(client: Client) -> None:
    data = {"email": "new@example.com", "company": "evil.com", "country": "RU"}
    data |= {"password1": "plum Tractor 81 seven"}

    page = client.post(reverse("account_signup"), data, headers={"accept-language": "ru"})

    assert (page.status_code, Company.objects.count()) == (200, 0)
    assert "«Ромашка», а не «romashka.ru»" in page.content.decode()


@pytest.mark.parametrize("name", ORDINARY)
def test_ordinary_company_name_is_accepted(name: str) -> None:
    validate_company_name(name)


@pytest.mark.parametrize("name", [*LEADING, "evil.ninja", "Dr.Web"])
def test_invitation_omits_names_that_become_links(client: Client, name: str) -> None:
    email = invited_by(client, name)

    assert email.subject == "Kvitok: приглашение в компанию"
    assert "приглашает вас в свою компанию." in email.text
    # The invitation's own link has random letters, which may spell anything.
    written = re.sub(rf"{re.escape(settings.PUBLIC_URL)}\S*", "", email.text + email.html)
    assert "evil" not in written
    assert name not in written


@pytest.mark.parametrize("name", [name for name in LEADING if not name.isprintable()])
@pytest.mark.parametrize("template", ["company_suspended", "company_approved"])
def test_stored_multiline_name_does_not_break_an_email(template: str, name: str) -> None:
    company = Company.objects.create(name=name)
    plain = Company.objects.create(name="Daisy")
    for addressee in (company, plain):
        MemberFactory.create(company=addressee)
        mail.post_to_members(
            company=addressee, roles=[Member.Role.OWNER], template=template, context={"reason": ""}
        )

    odd, usual = Mail.objects.order_by("created_at", "pk")

    assert odd.text.count("\n") == usual.text.count("\n")
    assert {category(char) for char in odd.subject} & {"Cc", "Cf", "Zl", "Zp"} == set()
    assert {category(char) for char in odd.text.replace("\n", "")} & {"Cc", "Cf", "Zl"} == set()


def invited_by(client: Client, name: str) -> Mail:
    company = Company.objects.create(name=name, status=Company.Status.APPROVED)
    boss = MemberFactory.create(company=company, user__email="boss@example.com").user
    client.force_login(boss)
    mark_reauthenticated(client, boss)
    data = {"email": "stranger@example.net", "role": Member.Role.DEVELOPER}
    client.post(reverse("member-invite"), data)
    return Mail.objects.get(template="invitation")
