"""The cabinet's page with the lines that a program changes."""

from django.test import Client
from django.urls import reverse

from accounts.models import Member, Mode
from compat.client_lines import lines_for
from compat.dialect import dialects
from compat.twilio.dialect import service_sid
from tests.compat.clients import client_key
from tests.factories import ApiKeyFactory, IssuedKey

FORM = {"name": "Site", "mode": "test", "purpose": "login"}


def test_lines_are_filled_in_for_every_dialect(owner: Member) -> None:
    key = client_key(owner.company)

    shown = lines_for(key, key.plaintext)

    assert {lines.dialect.name for lines in shown} == set(dialects())
    assert shown[0].dialect.name == "twilio"
    for lines in shown:
        assert lines.address.endswith(f"/compat/{lines.dialect.name}")
        assert {"curl"} <= {snippet.id.rpartition("-")[2] for snippet in lines.snippets}
        for snippet in lines.snippets:
            assert "{{ " not in snippet.code
            assert key.plaintext in snippet.code or "privateKey" in snippet.code
            assert lines.address.partition("://")[2] in snippet.code


def test_lines_of_a_live_key_have_a_placeholder_for_the_number(owner: Member) -> None:
    for mode, phone in ((Mode.TEST, "79990000000"), (Mode.LIVE, "YOUR_PHONE")):
        snippets = _snippets(client_key(owner.company, mode=mode))
        assert [code for code in snippets if phone not in code] == []


def test_lines_of_a_key_that_signs_name_its_application(owner: Member) -> None:
    signs = client_key(owner.company, public_key="PEM")
    other = client_key(owner.company)

    (node,) = [each for each in _snippets(signs) if "privateKey" in each]
    assert signs.application_id in node
    assert any("YOUR_APPLICATION_ID" in each for each in _snippets(other))


def _snippets(key: IssuedKey) -> list[str]:
    return [snippet.code for lines in lines_for(key, "") for snippet in lines.snippets]


def test_new_key_is_shown_with_its_lines_once(client: Client, owner: Member) -> None:
    page = client.post(reverse("key-create-client"), FORM)

    key = owner.company.api_keys.get()
    service = service_sid(owner.company.pk, "test", "login")
    assert (key.purpose, key.scopes) == ("login", ["verify"])
    assert (
        f'Client("AC{"0" * 32}", "{page.context["plaintext"]}")'
        in page.content.decode().replace("&quot;", '"')
    )
    again = client.get(reverse("key-client")).content.decode()
    assert service in again
    assert page.context["plaintext"] not in again


def test_page_shows_the_requested_key(client: Client, owner: Member) -> None:
    first = client_key(owner.company, "login", name="First")
    client_key(owner.company, "payment", name="Second")
    ApiKeyFactory.create(company=owner.company)

    page = client.get(reverse("key-client"), {"key": first.pk})

    assert page.context["chosen"] == first
    assert len(page.context["keys"]) == 2
    assert client.get(reverse("key-client"), {"key": "x"}).status_code == 200


def test_page_without_keys_links_to_the_form_for_one(client: Client, owner: Member) -> None:
    page = client.get(reverse("key-client"))

    assert reverse("key-create-client") in page.content.decode()


def test_rotated_key_keeps_the_purpose(client: Client, owner: Member) -> None:
    key = client_key(owner.company)

    client.post(reverse("key-rotate", args=[key.pk]))

    successor = owner.company.api_keys.exclude(pk=key.pk).get()
    assert (successor.purpose, successor.scopes) == ("login", ["verify"])
