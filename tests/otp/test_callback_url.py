"""`callback_url` of a send: events of one message at a URL on a registered host, and no other."""

from datetime import timedelta

import pytest
from django.db.models import F
from django.test import override_settings

from accounts.models import Company, Mode
from channels.lifecycle.state_machine import EventKind
from channels.models import Message
from otp.check import settlement
from persons.erasure import erase
from persons.person import Person
from tests.api.clients import Api, ApiResponse
from tests.channels.message_stages import PHONE, accepted, apply_event
from tests.factories import CompanyFactory, EndpointFactory
from tests.otp.sent_codes import code_of, forget_limits
from tests.webhooks.receivers import Receiver, listening
from tests.webhooks.rounds import make_due, run_out, run_round
from webhooks import dispatcher, endpoints
from webhooks.models import Delivery, Endpoint

pytestmark = pytest.mark.django_db(transaction=True)
HOST = "https://hooks.shop.example"
OWN = f"{HOST}/kvitok"


@pytest.fixture
def endpoint(company: Company, receiver: Receiver) -> Endpoint:
    """An endpoint that wants no event of a message."""
    return EndpointFactory.create(company=company, url=receiver.url, kinds=["balance.low"])


def post(api: Api, url: object, **fields: object) -> ApiResponse:
    forget_limits()
    return api.post("/otp/send", {"phone": PHONE, "callback_url": url} | fields)


def beside(endpoint: Endpoint, path: str = "/session/7?a=1") -> str:
    return endpoint.url.removesuffix("/hook") + path


def enter_code(api: Api) -> None:
    assert api.post("/otp/verify", {"phone": PHONE, "code": code_of(PHONE)}).status == 200
    settlement.settle_verified()


def urls() -> list[str]:
    return sorted(Delivery.objects.values_list("url", flat=True))


def test_all_events_of_the_message_come_signed(
    api: Api, endpoint: Endpoint, receiver: Receiver
) -> None:
    attempt = accepted(api, callback_url=beside(endpoint), reference="7")
    apply_event(attempt, EventKind.DELIVERED)
    enter_code(api)
    run_round()

    secret = endpoints.secret_of(endpoint)
    assert {call.path for call in receiver.calls} == {"/session/7?a=1"}
    bodies = {call.verified(secret)["type"]: call.json["data"] for call in receiver.calls}
    assert bodies.keys() == {"message.sent", "message.delivered", "otp.verified"}
    assert {data["reference"] for data in bodies.values()} == {"7"}
    assert "session" not in str(bodies)


def test_other_messages_do_not_come_there(api: Api, endpoint: Endpoint) -> None:
    accepted(api, callback_url=beside(endpoint))
    accepted(api, "+79161234568")

    assert urls() == [beside(endpoint)]


def test_subscribed_endpoint_gets_the_event_beside_the_callback_url(
    api: Api, endpoint: Endpoint
) -> None:
    Endpoint.objects.update(kinds=["message.sent"])

    accepted(api, callback_url=beside(endpoint))

    assert urls() == ["", beside(endpoint)]
    assert Delivery.objects.values("event").distinct().count() == 1


def test_url_of_an_endpoint_gets_one_delivery(api: Api, endpoint: Endpoint) -> None:
    other = EndpointFactory.create(
        company=api.company, url=beside(endpoint), kinds=["otp.verified"]
    )

    accepted(api, callback_url=other.url)
    enter_code(api)

    told = Delivery.objects.order_by("event__kind").values_list("event__kind", "endpoint", "url")
    assert list(told) == [
        ("message.delivered", other.pk, other.url),
        ("message.sent", other.pk, other.url),
        ("otp.verified", other.pk, ""),
    ]


def test_oldest_endpoint_of_the_host_signs(api: Api, endpoint: Endpoint) -> None:
    EndpointFactory.create(company=api.company, url=beside(endpoint, "/b"), kinds=["balance.low"])

    accepted(api, callback_url=beside(endpoint, "/c"))

    assert Delivery.objects.get().endpoint == endpoint


def test_verified_code_is_reported_to_the_latest_url(api: Api, endpoint: Endpoint) -> None:
    for url in (beside(endpoint, "/a"), beside(endpoint, "/b"), None):
        assert post(api, url).status == 200
    enter_code(api)

    verified = Delivery.objects.filter(event__kind="otp.verified")
    assert list(verified.values_list("url", flat=True)) == [beside(endpoint, "/b")]


def test_next_channel_keeps_the_url(api: Api, endpoint: Endpoint) -> None:
    public_id = post(api, beside(endpoint), channel="whatsapp").body["verification"]

    response = api.post(f"/otp/{public_id}/next", {})

    assert response.status == 200, response.body
    kept = [message.params["callback"]["url"] for message in Message.objects.all()]
    assert kept == [beside(endpoint)] * 2


@pytest.mark.parametrize(
    "url",
    [
        f"{HOST}/any/path?order=7",
        HOST,
        "HTTPS://HOOKS.Shop.EXAMPLE/x",
        "https://hooks.shop.example:443/x",
        "https://hooks.shop.example./x",
        "https://hooks。shop.example/x",
    ],
)
@override_settings(WEBHOOKS_TO_LOOPBACK=False)
def test_spelling_of_the_host_does_not_matter(api: Api, url: str) -> None:
    EndpointFactory.create(company=api.company, url=OWN)

    assert post(api, url).status == 200
    assert Message.objects.get().params["callback"]["url"].startswith(f"{HOST}/")


def test_unicode_host_is_the_registered_one(api: Api) -> None:
    EndpointFactory.create(company=api.company, url="https://xn--fa-hia.example/kvitok")

    assert post(api, "https://faß.example/x").status == 200
    assert "callback_url" in post(api, "https://fass.example/x").body["errors"]


ELSEWHERE: tuple[object, ...] = (
    "https://evil.example/kvitok",
    "https://hooks.shop.example.evil.example/",
    "https://evil.example/https://hooks.shop.example/kvitok",
    "https://shop.example/kvitok",
    "https://a.hooks.shop.example/",
    "https://hooks.shop.example:8443/kvitok",
    "https://hooks.shop.example:22/kvitok",
    "https://hooks.shop.example@evil.example/",
    "https://evil.example@hooks.shop.example/",
    "https://hooks.shop.example:443@evil.example/",
    "https://hooks.shop.example\\@evil.example/",
    "https://evil.example\\.hooks.shop.example/",
    "https://evil.example#@hooks.shop.example/",
    "https://evil.example?@hooks.shop.example/",
    "https://hooks.shop.example%2eevil.example/",
    "https://hooks.shop.example%00.evil.example/",
    "https://hoоks.shop.example/",  # a Cyrillic letter
    "http://hooks.shop.example/kvitok",
    "http://hooks.shop.example:443/kvitok",
    "//hooks.shop.example/kvitok",
    "ftp://hooks.shop.example/kvitok",
    "file:///etc/passwd",
    "gopher://hooks.shop.example/",
    "javascript:alert(1)",
    "https://127.0.0.1/",
    "https://2130706433/",
    "https://[::1]/",
    "https://169.254.169.254/latest/meta-data/",
    "https://localhost/",
    "https:///kvitok",
    "https://",
    "/kvitok",
    "hooks.shop.example",
    " https://hooks.shop.example/",
    "https://hooks.shop.example/a b",
    "https://hooks.shop.example/\r\nHost: evil.example",
    "https://hooks.shop.example/#part",
    "https://hooks.shop.example/" + "x" * 2000,
    "https://hooks.shop.example/\x00",
    7,
    True,
    ["https://hooks.shop.example/"],
    {"url": "https://hooks.shop.example/"},
)


@override_settings(WEBHOOKS_TO_LOOPBACK=False)
def test_any_other_host_is_refused(api: Api) -> None:
    EndpointFactory.create(company=api.company, url=OWN)

    responses = {repr(url): post(api, url) for url in ELSEWHERE}

    faulty = {url: list(response.body.get("errors", ())) for url, response in responses.items()}
    assert faulty == {url: ["callback_url"] for url in responses}
    assert {response.status for response in responses.values()} == {422}
    assert Message.objects.count() == 0


def test_refusal_says_to_register_the_host(api: Api) -> None:
    response = post(api, OWN)

    assert "добавьте" in response.body["errors"]["callback_url"][0]


@pytest.mark.parametrize("text", [None, ""])
def test_empty_callback_url_is_ignored(api: Api, text: str | None) -> None:
    assert post(api, text).status == 200
    assert "callback" not in Message.objects.get().params


def test_only_own_enabled_endpoints_of_the_mode_count(
    api: Api, test_api: Api, company: Company
) -> None:
    EndpointFactory.create(company=CompanyFactory.create(), url=OWN)
    test_one = EndpointFactory.create(company=company, url=OWN, mode=Mode.TEST)
    assert "callback_url" in post(api, OWN).body["errors"]
    assert post(test_api, OWN, phone="+79990000000").status == 200

    own = EndpointFactory.create(company=company, url=OWN)
    assert post(api, OWN).status == 200
    endpoints.disable(endpoint=own, user=None)
    assert "callback_url" in post(api, OWN).body["errors"]
    endpoints.delete(endpoint=test_one, user=None)
    assert "callback_url" in post(test_api, OWN, phone="+79990000000").body["errors"]


@pytest.mark.parametrize("happens", ["disabled", "deleted", "moved"])
@pytest.mark.parametrize("is_stored", [False, True])
def test_no_delivery_goes_to_a_former_url(
    api: Api, endpoint: Endpoint, receiver: Receiver, happens: str, *, is_stored: bool
) -> None:
    EndpointFactory.create(company=api.company)  # so that there is somebody to tell
    if is_stored:
        accepted(api, callback_url=beside(endpoint))
        assert beside(endpoint) in urls()
    else:
        post(api, beside(endpoint))
    change(endpoint, happens)
    if not is_stored:
        enter_code(api)
        assert not Delivery.objects.exclude(url="")
    run_round()
    dispatcher.cancel_undeliverable()

    assert receiver.calls == []
    assert set(Delivery.objects.exclude(url="").values_list("state", flat=True)) <= {"failed"}


def change(endpoint: Endpoint, happens: str) -> None:
    if happens == "disabled":
        endpoints.disable(endpoint=endpoint, user=None)
    elif happens == "deleted":
        endpoints.delete(endpoint=endpoint, user=None)
    else:
        moved = {"url": "https://elsewhere.example/hook", "kinds": ["message.sent"]}
        endpoints.change(endpoint=endpoint, changes=moved, scopes=["otp"], user=None)


def test_replay_goes_nowhere_after_the_host_changed(
    api: Api, endpoint: Endpoint, receiver: Receiver
) -> None:
    accepted(api, callback_url=beside(endpoint))
    Delivery.objects.update(state="failed", due_at=None)
    change(endpoint, "moved")
    Delivery.objects.update(state="pending", due_at=F("created_at"))
    run_round()
    dispatcher.cancel_undeliverable()

    assert receiver.calls == []
    assert Delivery.objects.get().state == "failed"


def test_another_path_of_the_host_changes_nothing(
    api: Api, endpoint: Endpoint, receiver: Receiver
) -> None:
    accepted(api, callback_url=beside(endpoint))
    Endpoint.objects.update(url=beside(endpoint, "/moved"))
    assert dispatcher.cancel_undeliverable() == 0
    run_round()

    assert [call.path for call in receiver.calls] == ["/session/7?a=1"]


def test_both_secrets_sign_after_a_rotation(
    api: Api, endpoint: Endpoint, receiver: Receiver
) -> None:
    old = endpoints.secret_of(endpoint)
    accepted(api, callback_url=beside(endpoint))
    new = endpoints.rotate(endpoint=endpoint, user=None)
    run_round()

    assert receiver.calls[0].verified(old) == receiver.calls[0].verified(new)
    Endpoint.objects.update(previous_until=F("previous_until") - timedelta(days=2))
    make_due(Delivery.objects.get())
    run_round()
    with pytest.raises(Exception, match="signature"):
        receiver.calls[-1].verified(old)


def test_redirect_is_not_followed(api: Api, endpoint: Endpoint, receiver: Receiver) -> None:
    with listening() as inner:
        receiver.status = 307
        receiver.headers = {"Location": inner.url}
        accepted(api, callback_url=beside(endpoint))
        run_round()

        assert (len(receiver.calls), inner.calls) == (1, [])
    delivery = Delivery.objects.get()
    assert (delivery.state, delivery.tries) == ("pending", 1)


@pytest.mark.parametrize("status", [410, 500])
def test_url_that_fails_leaves_the_endpoint_on(
    api: Api, endpoint: Endpoint, receiver: Receiver, status: int
) -> None:
    receiver.status = status
    accepted(api, callback_url=beside(endpoint))
    run_out(Delivery.objects.get())

    endpoint.refresh_from_db()
    assert Delivery.objects.get().state == "failed"
    assert (endpoint.is_enabled, endpoint.failing_since) == (True, None)


def test_erasure_forgets_the_url(api: Api, endpoint: Endpoint, receiver: Receiver) -> None:
    apply_event(accepted(api, callback_url=beside(endpoint, "/ivan")), EventKind.DELIVERED)
    enter_code(api)

    erase(person=Person(PHONE))
    run_round()
    dispatcher.cancel_undeliverable()

    assert receiver.calls == []
    assert set(Delivery.objects.values_list("url", "state")) == {("about:blank", "failed")}
    assert "ivan" not in str(Message.objects.get().params)
