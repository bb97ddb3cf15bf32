"""Two people in the settings at once: other sections stay, and nobody overwrites unawares."""

from collections.abc import Callable

import pytest
from django.test import Client

from accounts.models import Company, Member
from accounts.people import companies
from accounts.people.companies import StaleSettingsError, settings_version
from tests.api.races import at_once
from tests.cabinet.settings_page import COMPANY, form_of, send, version
from tests.factories import CompanyFactory, MemberFactory


@pytest.fixture
def colleague(owner: Member) -> Client:
    client = Client()
    client.force_login(MemberFactory.create(company=owner.company, role="developer").user)
    return client


def test_different_sections_lose_nothing(client: Client, colleague: Client, owner: Member) -> None:
    codes = version(client, "codes")
    limits = version(colleague, "limits")

    send(client, "codes", {"code_length": "5"}, of=codes)
    send(colleague, "limits", {"cool_down": "90"}, of=limits)

    owner.company.refresh_from_db()
    assert (owner.company.code_length, owner.company.cool_down) == (5, 90)


def test_second_editor_is_warned_and_may_overwrite(
    client: Client, colleague: Client, owner: Member
) -> None:
    opened = version(client, "company")
    send(colleague, "company", COMPANY | {"brand": "Theirs"})

    told = send(client, "company", COMPANY | {"brand": "Mine"}, of=opened)

    owner.company.refresh_from_db()
    assert owner.company.brand == "Theirs"
    page = told.content.decode()
    assert "Пока вы редактировали" in page
    assert form_of(told, "company")["brand"].value() == "Mine"
    (section,) = [section for section in told.context["sections"] if section.overwritten]
    assert section.overwritten.event.actor in page
    assert [str(change) for change in section.overwritten.values] == [
        "Бренд в сообщениях: Mine → Theirs"
    ]

    send(client, "company", COMPANY | {"brand": "Mine"}, of=section.version)

    owner.company.refresh_from_db()
    assert owner.company.brand == "Mine"


def test_form_without_its_version_overwrites_nothing(client: Client, owner: Member) -> None:
    told = send(client, "codes", {"code_length": "5", "version": ""})

    owner.company.refresh_from_db()
    assert owner.company.code_length == 6
    assert [section.slug for section in told.context["sections"] if section.overwritten] == [
        "codes"
    ]


def test_refused_form_keeps_the_version_it_was_opened_at(
    client: Client, colleague: Client, owner: Member
) -> None:
    opened = version(client, "codes")
    send(colleague, "codes", {"code_length": "8"})

    refused = send(client, "codes", {"code_length": "99"}, of=opened)

    (section,) = [section for section in refused.context["sections"] if section.slug == "codes"]
    assert section.version == opened


@pytest.mark.django_db(transaction=True)
def test_parallel_saves_of_one_section_keep_one() -> None:
    company: Company = CompanyFactory.create()
    users = [MemberFactory.create(company=company).user for _ in range(8)]
    opened = settings_version(company, ["code_length"])

    def save(n: int) -> Callable[[], bool]:
        def run() -> bool:
            try:
                companies.change_settings(
                    company=company,
                    user=users[n],
                    changes={"code_length": 4 if n % 2 else 8},
                    version=opened,
                )
            except StaleSettingsError:
                return False
            return True

        return run

    won = at_once([save(n) for n in range(8)])

    assert sum(won) == 1
    assert company.audit.count() == 1
