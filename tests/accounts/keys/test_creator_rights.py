"""A key does with money what its creator may do as a member, and no role is listed here."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.test import Client
from django.urls import reverse

from accounts import key_issuing
from accounts.keys import api_keys, key_format
from accounts.models import ApiKey, Company, Member, Scope, every_scope, scopes_of_role
from accounts.people import members
from api.calls import Call
from api_docs.calls import CALLS
from identity_hooks import hooks
from tests.api.blocking import start_blocked
from tests.api.clients import Api
from tests.factories import ApiKeyFactory, EndpointFactory, EventFactory, MemberFactory
from webhooks import endpoints
from webhooks.events import declaration_of
from webhooks.models import EventKind

pytestmark = pytest.mark.django_db
MAKERS = [role for role in Member.Role if Member(role=role).can_manage_keys]
MONEY = {Scope.BALANCE: "can_see_money", Scope.TOP_UP: "can_manage_money"}


def withheld(role: str) -> set[Scope]:
    return {scope for scope, right in MONEY.items() if not getattr(Member(role=role), right)}


def usable(key: ApiKey) -> set[str]:
    api_keys.clear_cache()
    principal = api_keys._read([bytes(key.digest)])[bytes(key.digest)].value
    return set(principal.scopes)


def read(api: Api, call: Call) -> int:
    path = call.path.replace("{id}", "top_0192f0c1a6de7c6d9e7f809102132435")
    return api.get(path).status if call.method == "GET" else api.post(path, {}).status


@pytest.mark.parametrize("role", MAKERS)
def test_form_offers_permitted_scopes_only(client: Client, role: Member.Role) -> None:
    member = MemberFactory.create(role=role)
    client.force_login(member.user)
    form = {"name": "Site", "mode": "test"}
    offered = client.get(reverse("key-create")).context["form"].fields["scopes"].choices

    responses = {
        scope: client.post(reverse("key-create"), form | {"scopes": [scope.value, "otp"]})
        for scope in MONEY
    }

    assert {value for value, _ in offered} == scopes_of_role(role) - {Scope.VERIFY}
    refused = {
        scope for scope, response in responses.items() if "plaintext" not in response.context
    }
    assert refused == withheld(role)


@pytest.mark.parametrize("role", MAKERS)
def test_key_without_billing_role_is_refused_money_calls(
    role: Member.Role,
) -> None:
    member = MemberFactory.create(role=role)
    key, plaintext = key_issuing.create_api_key(
        company=member.company, user=member.user, mode="test", name="x"
    )
    api = Api(member.company, None, Authorization=f"Bearer {plaintext}")
    calls = [call for call in CALLS if call.scope in withheld(role)]

    statuses = {read(api, call) for call in calls}

    assert statuses == ({403} if calls else set())
    assert set(key.scopes) == scopes_of_role(role) - {Scope.VERIFY} == usable(key)


@pytest.mark.parametrize(
    "change",
    [
        lambda member, owner: members.change_role(member=member, role="developer", user=owner.user),
        lambda member, owner: members.remove(member=member, user=owner.user),
        lambda member, owner: member.user.delete(),
    ],
    ids=["demoted", "removed", "account deleted"],
)
def test_key_loses_money_with_its_creator_and_nothing_else(
    change: Callable[[Member, Member], object],
) -> None:
    owner = MemberFactory.create()
    member = MemberFactory.create(company=owner.company)
    key = ApiKeyFactory.create(company=owner.company, created_by=member.user)
    before = usable(key)

    change(member, owner)

    assert before == set(every_scope())
    assert usable(key) == set(every_scope()) - {*MONEY}


def test_developer_who_replaces_a_key_gets_no_money_with_it(client: Client) -> None:
    owner = MemberFactory.create()
    key = ApiKeyFactory.create(company=owner.company, created_by=owner.user, mode="test")
    developer = MemberFactory.create(company=owner.company, role=Member.Role.DEVELOPER)
    client.force_login(developer.user)
    page = reverse("key-rotate", args=[key.pk])
    shown = client.get(page).content.decode()

    plaintext = client.post(page).context["plaintext"]

    successor = ApiKey.objects.get(digest=key_format.digest(plaintext))
    assert "баланс, пополнение" in shown
    assert set(successor.scopes) == set(every_scope()) - {*MONEY}
    assert usable(key) == set(every_scope())


def test_key_of_money_alone_is_not_replaced_by_a_developer(client: Client) -> None:
    owner = MemberFactory.create()
    key = ApiKeyFactory.create(company=owner.company, mode="test", scopes=["balance"])
    client.force_login(MemberFactory.create(company=owner.company, role="developer").user)

    response = client.post(reverse("key-rotate", args=[key.pk]), follow=True)

    assert "ни одного из этих прав" in response.content.decode()
    assert owner.company.api_keys.count() == 1


def test_list_names_what_a_key_has_lost(client: Client) -> None:
    owner = MemberFactory.create()
    developer = MemberFactory.create(company=owner.company, role="developer")
    ApiKeyFactory.create(company=owner.company, created_by=developer.user)
    client.force_login(owner.user)

    page = client.get(reverse("key-list")).content.decode()

    assert "баланс, пополнение" in page


def about_money() -> list[EventKind]:
    return [kind for kind in EventKind if declaration_of(kind).scope in MONEY]


def keyed(company: Company, *scopes: str) -> Api:
    key = ApiKeyFactory.create(company=company, mode="test", scopes=scopes)
    return Api(company, None, Authorization=f"Bearer {key.plaintext}")


def test_events_about_money_need_the_scope_of_the_balance() -> None:
    company = MemberFactory.create().company
    blind = keyed(company, "webhooks")
    seeing = keyed(company, "webhooks", "balance")
    body = {"url": "https://example.com/a"}

    all_of_blind = blind.post("/webhooks", body)
    refused = [
        blind.post("/webhooks", {"url": "https://example.com/b", "events": [kind]}).status
        for kind in about_money()
    ]
    all_of_seeing = seeing.post("/webhooks", {"url": "https://example.com/c"})

    assert about_money()
    assert set(all_of_blind.body["events"]) == {*EventKind.values} - {*about_money()}
    assert refused == [422] * len(about_money())
    assert set(all_of_seeing.body["events"]) == {*EventKind.values}


def test_endpoint_with_events_about_money_is_not_redirected(client: Client) -> None:
    owner = MemberFactory.create()
    endpoint = EndpointFactory.create(company=owner.company, mode="test")
    client.force_login(MemberFactory.create(company=owner.company, role="developer").user)
    form = {"kinds": EventKind.values, "description": "new"}
    page = reverse("webhook-edit", args=[endpoint.public_id])

    described = client.post(page, form | {"url": endpoint.url})
    moved = client.post(page, form | {"url": "https://example.org/mine"})
    body = b'{"url": "https://example.org/mine"}'
    by_key = keyed(owner.company, "webhooks").call("PATCH", f"/webhooks/{endpoint.public_id}", body)

    url = endpoint.url
    endpoint.refresh_from_db()
    assert (described.status_code, moved.status_code, by_key.status) == (302, 200, 422)
    assert (endpoint.url, endpoint.description) == (url, "new")


@pytest.mark.parametrize(("role", "is_shown"), [("owner", True), ("developer", False)])
def test_delivery_shows_amount_only_to_billing_roles(
    client: Client, role: str, *, is_shown: bool
) -> None:
    member = MemberFactory.create(role=role)
    endpoint = EndpointFactory.create(company=member.company)
    event = EventFactory.create(
        company=member.company, kind=EventKind.BALANCE_LOW, data={"available": 771177}
    )
    delivery = endpoint.deliveries.create(event=event)
    client.force_login(member.user)

    page = client.get(reverse("delivery-detail", args=[delivery.public_id])).content.decode()

    assert ("771177" in page) is is_shown


def _makes_a_key(former: Member) -> object:
    return key_issuing.create_api_key(
        company=former.company, user=former.user, mode="live", name="x", scopes=[Scope.OTP]
    )


def _replaces_a_key(former: Member) -> object:
    return key_issuing.rotate_api_key(key=former.company.api_keys.get(), user=former.user)


def _makes_an_endpoint(former: Member) -> object:
    return endpoints.create(
        company=former.company,
        mode="live",
        url="https://example.com/",
        kinds=[EventKind.MESSAGE_DELIVERED],
        user=former.user,
    )


def _makes_a_hook(former: Member) -> object:
    return hooks.create(
        company=former.company, user=former.user, kind="logto", mode="live", values={"name": "x"}
    )


def _replaces_an_endpoints_secret(former: Member) -> object:
    return endpoints.rotate(endpoint=former.company.endpoints.get(), user=former.user)


def _leads_events_elsewhere(former: Member) -> None:
    endpoints.change(
        endpoint=former.company.endpoints.get(),
        changes={"url": "https://example.org/"},
        scopes=scopes_of_role(former.role),
        user=former.user,
    )


def _replaces_a_hooks_secret(former: Member) -> object:
    return hooks.rotate(hook=former.company.identity_hooks.get(), user=former.user)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    "act",
    [
        _makes_a_key,
        _replaces_a_key,
        _makes_an_endpoint,
        _replaces_an_endpoints_secret,
        _leads_events_elsewhere,
        _makes_a_hook,
        _replaces_a_hooks_secret,
    ],
)
@pytest.mark.parametrize("end", ["removed", "demoted"])
def test_member_being_removed_gets_no_new_secret(act: Callable[[Member], object], end: str) -> None:
    """A key's rights, except those about money, are the company's: it outlives its creator."""
    owner = MemberFactory.create()
    former = MemberFactory.create(company=owner.company, role="developer")
    ApiKeyFactory.create(company=owner.company)
    EndpointFactory.create(company=owner.company, kinds=[EventKind.MESSAGE_DELIVERED])
    hooks.create(
        company=owner.company, user=owner.user, kind="logto", mode="live", values={"name": "x"}
    )
    before = _secrets_of(owner.company)
    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            if end == "removed":
                members.remove(member=Member.objects.get(pk=former.pk), user=owner.user)
            else:
                members.change_role(
                    member=Member.objects.get(pk=former.pk), role="viewer", user=owner.user
                )
            began = start_blocked(pool, lambda: act(former))
        assert isinstance(began.exception(), PermissionDenied)

    assert _secrets_of(owner.company) == before


def _secrets_of(company: Company) -> list[list[tuple[object, ...]]]:
    """The company's secrets, and the URLs that events go to."""
    return [
        list(company.api_keys.values_list("digest")),
        list(company.endpoints.values_list("url", "generation")),
        list(company.identity_hooks.values_list("secret")),
    ]
