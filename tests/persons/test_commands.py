"""The operator's commands: any spelling of the phone, no erasure by mistake."""

import json
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from accounts.models import Company
from channels.models import Message
from tests.factories import MessageFactory
from tests.persons.traces import PHONE, leave

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("typed", [PHONE, "8 (916) 123-45-67", "79161234567"])
def test_person_is_erased_by_any_spelling(company: Company, typed: str) -> None:
    leave(company)
    output = StringIO()

    call_command("erase_person", typed, "--yes", stdout=output)

    assert "messages: 2" in output.getvalue().splitlines()
    assert not Message.objects.filter(phone=PHONE).exists()


def test_erasure_asks_first(company: Company, monkeypatch: pytest.MonkeyPatch) -> None:
    leave(company)
    monkeypatch.setattr("builtins.input", lambda _question: "no")

    with pytest.raises(CommandError, match="Nothing was erased"):
        call_command("erase_person", PHONE)

    assert Message.objects.filter(phone=PHONE).count() == 2


def test_open_message_is_named_with_the_time_to_try_again(company: Company) -> None:
    MessageFactory.create(company=company, phone=PHONE, state="sent")

    with pytest.raises(CommandError, match=r"still open .* try again after 20\d\d-"):
        call_command("erase_person", PHONE, "--yes")


@pytest.mark.parametrize("command", ["erase_person", "export_person"])
def test_what_is_no_phone_is_refused(command: str) -> None:
    with pytest.raises(CommandError, match="is no phone"):
        call_command(command, "somebody")


def test_export_is_json(company: Company) -> None:
    leave(company)
    output = StringIO()

    call_command("export_person", PHONE, stdout=output)

    exported = json.loads(output.getvalue())
    assert (exported["phone"], len(exported["data"]["messages"])) == (PHONE, 2)
