"""Twilio's calls of verifications and checks: https://www.twilio.com/docs/verify/api."""

import pytest
from django.test import Client
from django.urls import reverse

from accounts.models import Company, Member, Mode
from catalogue.errors import Error
from channels.models import Message
from otp.models import Verification
from tests.api.clients import ClientOf
from tests.compat.clients import DialectClient
from tests.compat.twilio.client import DIALECT, PHONE, Twilio, error_of
from tests.factories import ApiKeyFactory, CompanyFactory
from tests.otp.sent_codes import age_rows


@pytest.fixture
def twilio(company: Company) -> Twilio:
    return Twilio(company)


def test_create_and_check_by_id(twilio: Twilio) -> None:
    created = twilio.create()
    sid = created.body["sid"]
    wrong = twilio.check(twilio.wrong(), VerificationSid=sid)
    right = twilio.check(twilio.right(), VerificationSid=sid)
    again = twilio.check(twilio.wrong(), VerificationSid=sid)

    assert (created.status, wrong.status, right.status) == (201, 201, 201)
    assert (created.body["status"], created.body["valid"]) == ("pending", False)
    assert (wrong.body["status"], wrong.body["valid"]) == ("pending", False)
    assert (right.body["status"], right.body["valid"]) == ("approved", True)
    assert error_of(again) == (404, 20404)
    assert {response.body["sid"] for response in (created, wrong, right)} == {sid}


def test_verification_is_the_same_when_created_and_fetched(twilio: Twilio) -> None:
    created = twilio.create(Channel="whatsapp")

    fetched = twilio.fetch(created.body["sid"])
    by_number = twilio.fetch(PHONE)

    assert fetched.status == 200
    assert fetched.body == created.body == by_number.body
    assert created.body["channel"] == "whatsapp"
    assert [attempt["channel"] for attempt in created.body["send_code_attempts"]] == ["WHATSAPP"]
    assert created.body["account_sid"] == "AC" + "0" * 32


def test_message_has_the_purpose_of_the_key(twilio: Twilio) -> None:
    twilio.create()

    message = Message.objects.get()
    assert (message.params["door"], message.mode, message.phone) == ("twilio", "test", PHONE)
    assert Verification.objects.get().purpose == "login"


def test_message_page_names_the_dialect(twilio: Twilio, client: Client, owner: Member) -> None:
    twilio.create()

    page = client.get(reverse("message-detail", args=[Message.objects.get().public_id]))

    assert "Twilio Verify" in page.content.decode()


def test_create_during_cool_down_returns_running_verification(company: Company) -> None:
    twilio = Twilio(company, mode=Mode.LIVE)
    first = twilio.create()

    second = twilio.create()

    assert (first.status, second.status) == (201, 201)
    assert first.body["sid"] == second.body["sid"]
    assert Message.objects.count() == 1


def test_second_create_after_the_cool_down_sends_the_same_code(company: Company) -> None:
    twilio = Twilio(company, mode=Mode.LIVE)
    first = twilio.create()
    age_rows(seconds=65)

    second = twilio.create()

    assert second.body["sid"] == first.body["sid"]
    assert len(second.body["send_code_attempts"]) == 2
    assert Message.objects.count() == 2


def test_new_create_right_after_an_approval_is_too_early(company: Company) -> None:
    twilio = Twilio(company, mode=Mode.LIVE)
    twilio.create()
    twilio.check(twilio.right())

    assert error_of(twilio.create()) == (429, 60212)


def test_sixth_guess_is_refused(twilio: Twilio) -> None:
    twilio.create()
    guesses = [twilio.check(twilio.wrong()) for _ in range(4)]

    last = twilio.check(twilio.wrong())
    after = twilio.check(twilio.right())

    assert {response.status for response in guesses} == {201}
    assert last.status in {201, 429}
    assert error_of(after) == (429, 60202)


def test_expired_unknown_and_other_codes_are_not_found(twilio: Twilio, company: Company) -> None:
    other = Twilio(company, "payment")
    sid = twilio.create().body["sid"]
    age_rows(seconds=400)

    assert error_of(twilio.check("123456")) == (404, 20404)
    assert error_of(twilio.check("123456", VerificationSid=sid)) == (404, 20404)
    assert error_of(twilio.check("123456", VerificationSid="VE" + "0" * 32)) == (404, 20404)
    assert error_of(other.check("123456", VerificationSid=sid)) == (404, 20404)
    assert error_of(other.fetch(sid)) == (404, 20404)
    assert error_of(Twilio(CompanyFactory.create()).fetch(sid)) == (404, 20404)
    assert error_of(Twilio(company, mode=Mode.LIVE).fetch(sid)) == (404, 20404)


def test_custom_code_is_sent_and_checked(twilio: Twilio) -> None:
    created = twilio.create(CustomCode="A1b2C3")

    wrong = twilio.check("A1b2C4")
    right = twilio.check("A1b2C3")

    assert (created.status, wrong.body["valid"], right.body["status"]) == (201, False, "approved")


def test_another_custom_code_during_the_cool_down_is_refused(company: Company) -> None:
    """Returning the running verification would claim that this code is under way."""
    twilio = Twilio(company, mode=Mode.LIVE)
    twilio.create(CustomCode="A1b2C3")

    other = twilio.create(CustomCode="A1b2C4")
    same = twilio.create(CustomCode="A1b2C3")

    assert (error_of(other), same.status) == ((429, 60212), 201)
    assert Message.objects.count() == 1


def test_code_is_bound_to_a_payment(twilio: Twilio) -> None:
    created = twilio.create(Amount="€39.99", Payee="Acme", Tags='{"order": "17"}')
    code = twilio.right()

    other = twilio.check(code, To=PHONE, Amount="€40.00", Payee="Acme")
    none = twilio.check(code)
    right = twilio.check(code, To=PHONE, Amount="€39.99", Payee="Acme")

    assert (created.body["amount"], created.body["payee"]) == ("€39.99", "Acme")
    assert [response.body["valid"] for response in (other, none, right)] == [False, False, True]
    assert right.body["amount"] == "€39.99"
    assert Message.objects.get().params["metadata"] == {"order": "17"}


def test_custom_code_is_approved_by_report(twilio: Twilio) -> None:
    own = twilio.create(CustomCode="4829").body["sid"]
    ours = twilio.create(To="+79161234568").body["sid"]

    approved = twilio.update(own, "approved")

    assert (approved.status, approved.body["status"]) == (200, "approved")
    assert error_of(twilio.update(ours, "approved")) == (400, 60200)


def test_cancelled_code_is_refused(twilio: Twilio) -> None:
    sid = twilio.create().body["sid"]
    code = twilio.right()

    cancelled = twilio.update(sid, "canceled")

    assert (cancelled.status, cancelled.body["status"]) == (200, "canceled")
    assert twilio.fetch(sid).body["status"] == "canceled"
    assert error_of(twilio.check(code)) == (404, 20404)


def test_code_that_was_entered_is_not_cancelled(twilio: Twilio) -> None:
    sid = twilio.create().body["sid"]
    twilio.check(twilio.right())

    assert error_of(twilio.update(sid, "canceled")) == (404, 20404)
    assert twilio.fetch(sid).body["status"] == "approved"


@pytest.mark.parametrize(
    ("fields", "code", "named"),
    [
        ({"To": ""}, 60200, "To"),
        ({"To": "9161234567"}, 60200, "To"),
        ({"To": "8 916 123-45-67"}, 60200, "To"),
        ({"To": "+7"}, 60200, "To"),
        ({"To": "a@example.com"}, 60200, "To"),
        ({"To": "+7\x00916"}, 60200, "To"),
        ({"Channel": ""}, 60200, "Channel"),
        ({"Channel": "pigeon"}, 60200, "Channel"),
        ({"Channel": "call"}, 60223, "call"),
        ({"Channel": "email", "To": "a@example.com"}, 60223, "email"),
        ({"Channel": "sna"}, 60223, "sna"),
        ({"CustomMessage": "Hello"}, 60200, "CustomMessage"),
        ({"RateLimits": '{"ip": "1"}'}, 60200, "RateLimits"),
        ({"DeviceIp": "x"}, 60200, "DeviceIp"),
        ({"RiskCheck": "maybe"}, 60200, "RiskCheck"),
        ({"CustomCode": "123"}, 60200, "CustomCode"),
        ({"CustomCode": "12345678901"}, 60200, "CustomCode"),
        ({"CustomCode": "12 45"}, 60200, "CustomCode"),
        ({"Locale": "not a language"}, 60200, "Locale"),
        ({"Amount": "1"}, 60200, "Payee"),
        ({"Payee": "Shop"}, 60200, "Amount"),
        ({"Tags": "x"}, 60200, "Tags"),
        ({"Tags": '{"a": 1}'}, 60200, "Tags"),
        ({"Tags": '{"a": "\\u0000"}'}, 60200, "Tags"),
        ({"Tags": '{"\\u0000": "a"}'}, 60200, "Tags"),
        ({"Tags": '{"a": "' + "x" * 129 + '"}'}, 60200, "Tags"),
        ({"TemplateCustomSubstitutions": "[1]"}, 60200, "TemplateCustomSubstitutions"),
    ],
    ids=str,
)
def test_verification_with_a_wrong_field_is_refused_by_code(
    twilio: Twilio, fields: dict[str, str], code: int, named: str
) -> None:
    response = twilio.create(**fields)

    assert error_of(response) == (400, code)
    assert named in response.body["message"]
    assert not Message.objects.exists()


@pytest.mark.parametrize(
    "fields",
    [
        {"Channel": "SMS"},
        {"Channel": "auto"},
        {"Channel": "telegram"},
        {"DeviceIp": "203.0.113.9"},
        {"RiskCheck": "disable"},
        {"AppHash": "x"},
        {"TemplateSid": "HJ" + "0" * 32},
        {"X": "1"},
        {"TemplateCustomSubstitutions": '{"a": "b"}'},
        {"RateLimits": "{}"},
        {"Locale": "de-DE"},
    ],
    ids=str,
)
def test_verification_takes_every_known_option(twilio: Twilio, fields: dict[str, str]) -> None:
    response = twilio.create(**fields)

    assert (response.status, response.body["channel"]) in {(201, "sms"), (201, "whatsapp")}


@pytest.mark.parametrize(
    "fields", [{}, {"Code": "12"}, {"Code": "1234567890x"}, {"Code": ""}], ids=str
)
def test_check_refuses_malformed_codes(twilio: Twilio, fields: dict[str, str]) -> None:
    response = twilio.form(f"{twilio.service}/VerificationCheck", {"To": PHONE} | fields)

    assert error_of(response) == (400, 60200)
    assert "Code" in response.body["message"]


def test_check_requires_a_number_or_an_id(twilio: Twilio) -> None:
    response = twilio.form(f"{twilio.service}/VerificationCheck", {"Code": "123456"})

    assert error_of(response) == (400, 60200)


def test_country_balance_and_landline_are_refused(company: Company) -> None:
    live = Twilio(company, mode=Mode.LIVE)
    poor = Twilio(CompanyFactory.create(), mode=Mode.LIVE)

    assert error_of(live.create(To="+74951234567")) == (403, 60205)
    assert error_of(live.create(To="+447911123456")) == (403, 60605)
    assert error_of(poor.create()) == (403, 20003)


def test_another_service_is_not_found(twilio: Twilio, company: Company) -> None:
    for service in ("VA" + "0" * 32, "x", Twilio(company, "payment").service.rsplit("/", 1)[1]):
        twilio.service = f"/v2/Services/{service}"
        responses = [
            twilio.create(),
            twilio.check("123456"),
            twilio.fetch(PHONE),
            twilio.update(PHONE, "canceled"),
            twilio.get(twilio.service),
        ]
        assert {error_of(response) for response in responses} == {(404, 20404)}


def test_another_service_learns_the_keys_own(twilio: Twilio) -> None:
    sid = twilio.service.rsplit("/", 1)[1]
    twilio.service = "/v2/Services/VA" + "0" * 32

    assert sid in twilio.create().body["message"]


def test_refusal_messages_name_the_reason(company: Company) -> None:
    test = Twilio(company)
    live = Twilio(company, mode=Mode.LIVE)
    made_here = test.create().body["sid"]
    test.check(test.right())
    live.update(live.create().body["sid"], "canceled")

    said = {
        "already been used": test.check("123456"),
        "No code was sent": test.check("123456", To="+79161234568"),
        "Status (The service made this code": test.update(made_here, "approved"),
        "4 to 10 Latin letters": test.create(CustomCode="12"),
        "phone number: wait 60 s": live.create(),
        "Payee (who is paid)": test.create(Amount="1"),
    }

    assert [
        sentence for sentence, each in said.items() if sentence not in each.body["message"]
    ] == []


def test_send_held_back_by_the_protection_is_not_a_limit(twilio: Twilio) -> None:
    assert error_of(twilio.create(To="+79990000016")) == (403, 60410)
    assert error_of(twilio.create(To="+79990000011")) == (429, 60203)


def test_service_shows_the_keys_settings(company: Company) -> None:
    Company.objects.filter(pk=company.pk).update(brand="Rose", code_length=5)
    twilio = Twilio(company)

    service = twilio.get(twilio.service)
    listed = twilio.get("/v2/Services")

    assert service.status == listed.status == 200
    assert (service.body["friendly_name"], service.body["code_length"]) == ("Rose", 5)
    assert listed.body["services"] == [service.body]


def test_key_cannot_change_settings(twilio: Twilio) -> None:
    responses = [
        twilio.form("/v2/Services", {"FriendlyName": "x"}),
        twilio.form(twilio.service, {"FriendlyName": "x"}),
        twilio.call("DELETE", twilio.service),
    ]

    assert {error_of(response) for response in responses} == {(403, 20003)}


@pytest.mark.parametrize(
    "path",
    [
        "/RateLimits",
        "/RateLimits/RK1/Buckets",
        "/Webhooks",
        "/Entities",
        "/AccessTokens",
        "/MessagingConfigurations",
        "/Passkeys/Factors",
    ],
)
def test_unsupported_calls_are_not_found(twilio: Twilio, path: str) -> None:
    for method in ("GET", "POST"):
        assert error_of(twilio.call(method, twilio.service + path)) == (404, 20404)
    assert error_of(twilio.get("/v2/Templates")) == (404, 20404)
    assert error_of(twilio.get("/v2/SafeList/Numbers/+79161234567")) == (404, 20404)
    assert error_of(twilio.get("/v2/Forms/form-push")) == (404, 20404)


def test_wrong_key_is_refused_as_twilio_does(company: Company, client_of: ClientOf) -> None:
    ordinary = ApiKeyFactory.create(company=company).plaintext

    assert error_of(DialectClient(DIALECT, "x").get("/v2/Services")) == (401, 20003)
    assert error_of(DialectClient(DIALECT, ordinary).get("/v2/Services")) in {
        (401, 20003),
        (403, 20003),
    }
    assert DIALECT.errors[Error.INVALID_API_KEY].message == "Authenticate"
