"""The admin's pages of companies: figures, status, settings and keys."""

import html
import re
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.contrib.auth.models import Permission
from django.db import transaction
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries, Settings

from accounts.models import Company, Mail, User
from billing.models import BillingProfile, Transfer
from operator_admin import company_facts
from operator_admin.models import CompanyNote
from tests.api.blocking import start_blocked
from tests.factories import (
    CompanyFactory,
    LinkFactory,
    MemberFactory,
    MessageFactory,
    OrderFactory,
    ShortHostFactory,
    UserFactory,
    WalletFactory,
)
from tests.operator_admin.operators import make_operator, sign_in

pytestmark = pytest.mark.django_db
LIST = "admin:accounts_company_changelist"


def status_url(status: str, *companies: Company) -> str:
    ids = ",".join(str(company.pk) for company in companies)
    return f"{reverse('admin:company-status', args=[status])}?ids={ids}"


def create_content(company: Company) -> None:
    MemberFactory.create(company=company)
    WalletFactory.create(company=company, available=1_234_567, held=16)
    now = timezone.now()
    for state in ("delivered", "delivered", "failed", "queued"):
        MessageFactory.create(company=company, state=state, finished_at=now)
    MessageFactory.create(company=company, state="failed", mode="test")


def test_list_shows_a_company_s_figures(client: Client, operator: User) -> None:
    company = CompanyFactory.create()
    create_content(company)

    (row,) = client.get(reverse(LIST)).context["cl"].result_list

    assert (row.day.available, row.day.held, row.day.members) == (1_234_567, 16, 1)
    assert (row.day.sends, row.day.delivered, row.day.final) == (4, 2, 3)
    assert row.day.share == 66.7
    assert row.day.last_send is not None


def test_page_of_a_company_begins_with_its_money_and_sends(client: Client, operator: User) -> None:
    company = CompanyFactory.create(name="Северные ряды")
    create_content(company)
    OrderFactory.create(company=company)

    page = client.get(reverse("admin:accounts_company_change", args=[company.pk])).content.decode()

    heading, figures = page.split("<h1>", 1)[1].split('class="admin-figures"', 1)
    assert heading.startswith("Северные ряды</h1>")
    shown = re.findall(r"<strong>([^<]+)</strong>\s*<span>([^<]+)</span>", figures)[:3]
    assert [number for number, _text in shown] == ["1\xa0234\xa0567", "4", "1"]
    assert shown[0][1] == "удержано 16"
    assert '<input type="url" name="link_expired_url"' in page


def test_links_of_a_company_s_figures_open(client: Client, operator: User) -> None:
    company = CompanyFactory.create()
    page = client.get(reverse("admin:accounts_company_change", args=[company.pk])).content.decode()

    links = re.findall(r'class="admin-figure" href="([^"]+)"', page)

    assert len(links) == 3
    responses = [client.get(html.unescape(link)) for link in links]
    assert [response.status_code for response in responses] == [200, 200, 200]


def test_page_of_an_unknown_company_leads_back(client: Client, operator: User) -> None:
    response = client.get(reverse("admin:accounts_company_change", args=[10**6]))

    assert response.status_code == 302


def test_company_that_never_sent_is_listed_too(client: Client, operator: User) -> None:
    CompanyFactory.create(name="Новая")

    page = client.get(reverse(LIST)).content.decode()

    assert "Новая" in page


def test_list_asks_the_same_whatever_its_length(
    client: Client, operator: User, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    create_content(CompanyFactory.create())
    with django_assert_max_num_queries(15) as short:
        client.get(reverse(LIST))
    for company in CompanyFactory.create_batch(4):
        create_content(company)

    with django_assert_max_num_queries(len(short)):
        client.get(reverse(LIST))


def test_action_reaches_no_rows_but_the_ticked(client: Client, operator: User) -> None:
    """No page offers the rows of other pages, and the next page names a hundred at most."""
    ticked, _other = CompanyFactory.create_batch(2, status="pending")
    data = {"action": "approve", "_selected_action": [str(ticked.pk)], "select_across": "1"}

    response = client.post(reverse(LIST), data)

    assert response.headers["Location"].endswith(f"ids={ticked.pk}")


@pytest.mark.parametrize(("action", "status"), [("approve", "approved"), ("suspend", "suspended")])
def test_action_asks_before_anything_changes(
    client: Client, operator: User, action: str, status: str
) -> None:
    company = CompanyFactory.create(status="pending")

    asked = client.post(
        reverse(LIST), {"action": action, "_selected_action": [company.pk]}, follow=True
    )

    company.refresh_from_db()
    assert company.status == "pending"
    assert [row["company"] for row in asked.context["companies"]] == [company]
    assert asked.redirect_chain[-1][0] == status_url(status, company).replace(",", "%2C")


def test_approval_is_audited_and_mailed_to_the_owner(client: Client, operator: User) -> None:
    member = MemberFactory.create(company__status="pending", user__language="ru")
    MemberFactory.create(company=member.company, role="viewer")

    client.post(status_url("approved", member.company), {"reason": "договор подписан"})

    member.company.refresh_from_db()
    assert member.company.status == "approved"
    (event,) = member.company.audit.all()
    assert (event.action, event.user) == ("company.approved", operator)
    assert event.subject.endswith(": договор подписан")
    (mail,) = Mail.objects.all()
    assert (mail.to, mail.template) == (member.user.email, "company_approved")
    assert "договор подписан" in mail.text
    assert "договор подписан" in mail.html


def test_approval_email_names_granted_tokens(client: Client, operator: User) -> None:
    member = MemberFactory.create(company__status="pending", user__language="ru")
    page = client.get(status_url("approved", member.company))
    once = page.context["form"]["once"].value()

    client.post(status_url("approved", member.company), {"tokens": "1050", "once": once})

    mail = Mail.objects.get(template="company_approved")
    for body in (mail.text, mail.html):
        assert "На первые сообщения начислено 1\xa0050 токенов." in body


def test_suspension_wants_a_reason(client: Client, operator: User) -> None:
    member = MemberFactory.create()

    bare = client.post(status_url("suspended", member.company), {"reason": " "})
    member.company.refresh_from_db()
    assert (member.company.status, bare.status_code) == ("approved", 200)
    assert bare.context["form"].errors["reason"]

    client.post(status_url("suspended", member.company), {"reason": "жалобы на рассылку"})
    member.company.refresh_from_db()
    assert member.company.status == "suspended"
    assert "жалобы на рассылку" in Mail.objects.get().text


def test_second_approval_emails_nothing(client: Client, operator: User) -> None:
    member = MemberFactory.create(company__status="pending")
    for _ in range(2):
        client.post(status_url("approved", member.company), {"reason": ""})

    assert Mail.objects.count() == 1
    assert member.company.audit.count() == 1


def test_status_changes_only_after_a_recent_sign_in(client: Client, settings: Settings) -> None:
    settings.OPERATOR_MFA = True
    sign_in(client, make_operator(), "password", "mfa", age=3600)
    company = CompanyFactory.create(status="pending")

    response = client.post(status_url("approved", company), {"reason": ""})

    company.refresh_from_db()
    assert company.status == "pending"
    assert response.headers["Location"].startswith(reverse("mfa_reauthenticate"))


def test_operator_without_the_right_changes_nothing(client: Client) -> None:
    client.force_login(make_staff())
    company = CompanyFactory.create(status="pending")

    client.post(status_url("approved", company), {"reason": ""})

    company.refresh_from_db()
    assert company.status == "pending"


def make_staff() -> User:
    user = make_operator()
    user.is_superuser = False
    user.save()
    return user


@pytest.mark.parametrize("ids", ["²", "9" * 30, "%00"])
def test_unreadable_numbers_of_companies_name_none(
    client: Client, operator: User, ids: str
) -> None:
    assert client.get(status_url("suspended") + ids).status_code < 500


def test_operator_sets_the_patience_of_a_channel(client: Client, operator: User) -> None:
    company = CompanyFactory.create(patience={"whatsapp": 45})
    page = reverse("admin:accounts_company_change", args=[company.pk])
    form = client.get(page).context["adminform"].form
    inline = {"members-TOTAL_FORMS": "0", "members-INITIAL_FORMS": "0"}
    given = {name: "" if value is None else value for name, value in form.initial.items()}

    client.post(page, given | inline | {"patience_sms": "600"})

    company.refresh_from_db()
    assert company.patience == {"whatsapp": 45, "sms": 600}


def approve(client: Client, company: Company, **fields: str) -> str:
    response = client.post(status_url("approved", company), fields, follow=True)
    return response.content.decode()


def test_approval_gives_tokens_once_however_often_it_is_sent(
    client: Client, operator: User
) -> None:
    company = CompanyFactory.create(status=Company.Status.PENDING)
    once = "0192f0c1-a6de-7c6d-9e7f-809102132435"

    for _time in range(2):
        approve(client, company, reason="ok", tokens="1 500", once=once)

    company.refresh_from_db()
    transfer = Transfer.objects.get()
    assert (transfer.amount, transfer.reason, transfer.created_by) == (1500, "ok", operator)


def test_repeated_form_of_an_approval_lifts_no_suspension(client: Client, operator: User) -> None:
    company = CompanyFactory.create(status=Company.Status.PENDING)
    once = "0192f0c1-a6de-7c6d-9e7f-809102132435"
    approve(client, company, tokens="1 500", once=once)
    client.post(status_url("suspended", company), {"reason": "fraud"})

    approve(client, company, tokens="1 500", once=once)

    company.refresh_from_db()
    assert company.status == Company.Status.SUSPENDED
    assert Transfer.objects.get().amount == 1500


@pytest.mark.parametrize("tokens", ["-5", "0", "x", "99999999999"])
def test_invalid_number_of_tokens_approves_nobody(
    client: Client, operator: User, tokens: str
) -> None:
    company = CompanyFactory.create(status=Company.Status.PENDING)

    approve(client, company, tokens=tokens, once="0192f0c1-a6de-7c6d-9e7f-809102132435")

    company.refresh_from_db()
    assert company.status == Company.Status.PENDING
    assert not Transfer.objects.exists()


def test_operator_without_the_right_to_give_gives_nothing(client: Client) -> None:
    reader = UserFactory.create(is_staff=True)
    for codename in ("change_company", "view_company"):
        reader.user_permissions.add(Permission.objects.get(codename=codename))
    sign_in(client, reader, "password", "mfa")
    company = CompanyFactory.create(status=Company.Status.PENDING)

    approve(client, company, tokens="5", once="0192f0c1-a6de-7c6d-9e7f-809102132435")

    company.refresh_from_db()
    assert company.status == Company.Status.APPROVED
    assert not Transfer.objects.exists()


def test_approval_page_lists_facts_to_check(client: Client, operator: User) -> None:
    company = CompanyFactory.create(status=Company.Status.PENDING)
    MemberFactory.create(company=company, user__email="boss@gmail.com")
    BillingProfile.objects.create(company=company, legal_name="ООО «Ромашка»", inn="7800000002")
    MessageFactory.create_batch(2, company=company, mode="test")
    LinkFactory.create(company=company).reports.create(reason="spam")

    facts = {str(fact.title): fact for fact in company_facts.facts_of(company)["facts"]}

    assert [fact.ok for fact in facts.values()] == [False, False, None, True, False]
    page = client.get(status_url("approved", company)).content.decode()
    assert "ООО «Ромашка», 7800000002, RU" in page
    assert "gmail.com" in page


def test_note_is_kept_for_other_operators(client: Client, operator: User) -> None:
    company = CompanyFactory.create()
    url = reverse("admin:company-note", args=[company.pk])

    client.post(url, {"text": "<b>звонили</b>"})
    client.post(url, {"text": ""})
    client.post(url, {"text": "x" * 1001})

    page = client.get(reverse("admin:accounts_company_change", args=[company.pk]))
    assert "&lt;b&gt;звонили&lt;/b&gt;" in page.content.decode()
    assert CompanyNote.objects.count() == 1
    assert client.get(url).status_code == 405
    assert (
        client.post(reverse("admin:company-note", args=[10**9]), {"text": "x"}).status_code == 403
    )


def test_index_lists_companies_that_wait_for_approval(client: Client, operator: User) -> None:
    waiting = CompanyFactory.create(status=Company.Status.PENDING, name="Ждущая")
    CompanyFactory.create(name="Одобренная")

    page = client.get(reverse("admin:index")).content.decode()

    assert status_url("approved", waiting).replace("&", "&amp;") in page
    assert "Одобренная" not in page


@pytest.mark.django_db(transaction=True)
def test_form_of_an_operator_undoes_no_suspension(client: Client, operator: User) -> None:
    company = CompanyFactory.create(status=Company.Status.APPROVED)
    page = reverse("admin:accounts_company_change", args=[company.pk])
    form = client.get(page).context["adminform"].form
    given = {name: "" if value is None else value for name, value in form.initial.items()}
    given |= {"name": "Daisy", "members-TOTAL_FORMS": "0", "members-INITIAL_FORMS": "0"}

    with ThreadPoolExecutor() as pool:
        with transaction.atomic():
            Company.objects.filter(pk=company.pk).update(status=Company.Status.SUSPENDED)
            saving = start_blocked(pool, lambda: client.post(page, given))
        assert saving.result().status_code == 302

    company.refresh_from_db()
    assert (company.name, company.status) == ("Daisy", Company.Status.SUSPENDED)


@pytest.mark.parametrize(
    ("field", "typed", "stored"),
    [
        ("allowed_countries", "ru, kz", ["RU", "KZ"]),
        ("allowed_countries", "ZZ", None),
        ("link_targets", "EXAMPLE.com", ["example.com"]),
        ("link_targets", "no site", None),
        ("link_expired_url", "javascript:alert(1)", None),
        ("link_utm", "a=b#c", None),
        ("link_host", "of-another-company.example", None),
        ("fallback_chain", "sms, max", ["sms", "max"]),
        ("fallback_chain", "sms, pigeon", None),
        ("fallback_chain", "sms, sms", None),
        ("default_link_lifetime", "0", None),
        ("api_rate", "0", None),
    ],
)
def test_operator_reads_company_rules_as_company_does(
    client: Client, operator: User, field: str, typed: str, stored: list[str] | None
) -> None:
    """One capital or small letter would refuse every send or every link of the company."""
    company = CompanyFactory.create()
    ShortHostFactory.create(host="of-another-company.example")
    page = reverse("admin:accounts_company_change", args=[company.pk])
    given = {"name": company.name, "country": "RU", "language": "ru", "code_length": "6"}
    inline = {"members-TOTAL_FORMS": "0", "members-INITIAL_FORMS": "0", "guard_mode": "enforce"}

    client.post(page, given | inline | {field: typed})

    before = getattr(company, field)
    company.refresh_from_db()
    assert getattr(company, field) == (before if stored is None else stored)
