"""Every column of a new link is stored by each statement that makes links."""

from collections.abc import Callable
from typing import NamedTuple

import pytest

from accounts.models import Company
from config.ids import uuid7
from links.addresses.short_hosts import Host
from links.make import bulk, create
from links.make.new_link import NewLink
from links.models import Link, ShortHost

pytestmark = pytest.mark.django_db


class LinkOwner(NamedTuple):
    company_id: int
    mode: str = "live"


def alone(owner: LinkOwner, wanted: NewLink) -> Link:
    return create.shorten(owner=owner, link=wanted)


def in_a_batch(owner: LinkOwner, wanted: NewLink) -> Link:
    (made,) = bulk.shorten_many(owner=owner, wanted=[wanted], batch_id=uuid7())
    assert isinstance(made, Link)
    return made


@pytest.mark.parametrize("make", [alone, in_a_batch])
@pytest.mark.parametrize("way", [{"is_reused": True}, {"alias": "Spring", "is_once": True}])
def test_new_link_is_stored_as_it_is_returned(
    company: Company, make: Callable[[LinkOwner, NewLink], Link], way: dict[str, str | bool]
) -> None:
    host = ShortHost.objects.create(company=company, host="go.example")
    wanted = NewLink(
        url="https://example.com/",
        lifetime=600,
        host=Host(host.pk, host.host, company.pk),
        utm="utm_source=shop",
        expired_url="https://example.com/late",
        dies_with_code=True,
        **way,  # type: ignore[arg-type]  # names of either type
    )

    made = make(LinkOwner(company.pk), wanted)

    stored = Link.objects.get()
    names = {field.attname for field in Link._meta.concrete_fields} - {"created_at"}
    assert {name: getattr(made, name) for name in names} == {
        name: getattr(stored, name) for name in names
    }
