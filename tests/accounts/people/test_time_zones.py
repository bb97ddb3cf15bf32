"""Times on pages are in the zone that the reader chose; days are the service's."""

import re
from datetime import UTC, datetime

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.models import Member, User
from tests.factories import MemberFactory

WINTER = datetime(2026, 1, 15, 21, 30, tzinfo=UTC)  # in Moscow, the next day


@pytest.fixture
def member(db: None) -> Member:
    member = MemberFactory.create()
    Member.objects.update(created_at=WINTER)
    return member


def times(client: Client, member: Member, zone: str) -> list[str]:
    User.objects.update(time_zone=zone)
    client.force_login(User.objects.get(pk=member.user_id))
    page = client.get(reverse("member-list")).content.decode()
    return re.findall(r'<time datetime="([^"]+)"', page)


def test_times_are_in_the_chosen_zone(client: Client, member: Member) -> None:
    assert times(client, member, "") == ["2026-01-16T00:30:00+03:00"]
    assert times(client, member, "Asia/Vladivostok") == ["2026-01-16T07:30:00+10:00"]
    assert times(client, member, "America/St_Johns") == ["2026-01-15T18:00:00-03:30"]


def test_zone_ends_with_the_page(client: Client, member: Member) -> None:
    times(client, member, "Asia/Vladivostok")

    assert timezone.get_current_timezone_name() == "Europe/Moscow"


@pytest.mark.parametrize("zone", ["Mars/Olympus", "../../etc/passwd", "\N{SNOWMAN}", "Europe"])
def test_removed_zone_falls_back_to_the_services(client: Client, member: Member, zone: str) -> None:
    assert times(client, member, zone) == ["2026-01-16T00:30:00+03:00"]


@pytest.mark.parametrize("zone", ["Mars/Olympus", "../../etc/passwd", "x" * 65])
def test_other_zones_cannot_be_saved(client: Client, member: Member, zone: str) -> None:
    client.force_login(member.user)

    response = client.post(reverse("profile"), {"language": "ru", "time_zone": zone})

    assert response.status_code == 200
    assert response.context["form"].errors.keys() == {"time_zone"}
