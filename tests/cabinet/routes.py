"""Every named route: who may open it, and on which of a company's objects.

A route that no table here knows fails `test_access.py`, so that none is forgotten.
"""

from collections.abc import Callable, Iterator
from enum import Enum
from typing import NamedTuple

from django.urls import URLPattern, URLResolver, get_resolver, reverse

from accounts.models import Company, Member
from channels.routing.stored_rules import rules_of
from otp.models import GuardRestriction
from persons.models import CompanyExport

OWNER, DEVELOPER, ACCOUNTANT, VIEWER = Member.Role.values
EVERYONE = frozenset({OWNER, DEVELOPER, ACCOUNTANT, VIEWER})
OWNERS = frozenset({OWNER})
MANAGERS = frozenset({OWNER, DEVELOPER})
READERS = EVERYONE - {ACCOUNTANT}
MONEY = frozenset({OWNER, ACCOUNTANT})
MONEY_READERS = MONEY | {VIEWER}
NOBODY: frozenset[str] = frozenset()
COLLEAGUE = "Colleague"  # the name of the member whom pages about a member are opened on

Args = dict[str, object]


class Kind(Enum):
    PAGE = "a whole page"
    PART = "a piece of a page, asked for by its script"
    FILE = "a download, or an address that only redirects"


class Route(NamedTuple):
    read: frozenset[str] = EVERYONE  # by GET; nobody: it has no GET
    change: frozenset[str] = NOBODY  # by POST
    of: Callable[[Company], Args] | None = None  # which object of the company it is opened on
    kind: Kind = Kind.PAGE
    is_shared: bool = False  # the object is of every company


def _csv_kind(_company: Company) -> Args:
    return {"kind": "messages"}


def _key(company: Company) -> Args:
    return {"pk": company.api_keys.active().filter(expires_at=None).get().pk}


def _link(company: Company) -> Args:
    return {"public_id": company.links.get(clicks=3).public_id}


def _batch(company: Company) -> Args:
    link = company.links.filter(batch_id__isnull=False).first()
    assert link is not None
    return {"public_id": link.batch}


def _document(company: Company) -> Args:
    return {"public_id": company.documents.get().public_id}


def _document_pdf(company: Company) -> Args:
    return {**_document(company), "kind": "pdf"}


def _import(company: Company) -> Args:
    return {"pk": company.link_imports.get().pk}


def _balance_alert(company: Company) -> Args:
    return {"pk": company.balance_alerts.get().pk}


def _request(company: Company) -> Args:
    return {"request_id": company.api_requests.get().request_id}


def _message(company: Company) -> Args:
    return {"public_id": company.messages.filter(state="delivered").first().public_id}  # type: ignore[union-attr]


def _endpoint(company: Company) -> Args:
    return {"public_id": company.endpoints.filter(disabled_at=None)[0].public_id}


def _hook(company: Company) -> Args:
    return {"pk": company.identity_hooks.active().get().pk}


def _delivery(company: Company) -> Args:
    return {"public_id": company.events.get(kind="message.failed").deliveries.get().public_id}


def _order(company: Company) -> Args:
    return {"public_id": company.orders.invoices().get().public_id}


def _colleague(company: Company) -> Args:
    return {"pk": company.members.get(user__name=COLLEAGUE).pk}


def _text(company: Company) -> Args:
    return {"pk": company.code_texts.get().pk}


def _export(company: Company) -> Args:
    return {"pk": CompanyExport.objects.get(company=company).pk}


def _rule(company: Company) -> Args:
    (rule,) = rules_of(company)
    return {"address": rule.address}


def _restriction(company: Company) -> Args:
    return {"pk": GuardRestriction.objects.get(company=company, ended_at=None).pk}


def _invitation(company: Company) -> Args:
    return {"pk": company.invitations.get().pk}


# What a member opens, by role.
CABINET = {
    "overview": Route(),
    "overview-quickstart": Route(kind=Kind.PART),
    "search": Route(),
    "search-suggestions": Route(kind=Kind.PART),
    "overview-csv": Route(kind=Kind.FILE),
    "link-list": Route(),
    "link-export": Route(kind=Kind.FILE),
    "link-create": Route(MANAGERS, MANAGERS),
    "link-import": Route(MANAGERS, MANAGERS),
    "link-import-detail": Route(MANAGERS, of=_import),
    "link-import-status": Route(MANAGERS, of=_import, kind=Kind.PART),
    "link-import-start": Route(NOBODY, MANAGERS, of=_import),
    "link-import-discard": Route(NOBODY, MANAGERS, of=_import),
    "link-import-csv": Route(MANAGERS, of=_import, kind=Kind.FILE),
    "link-stop-all": Route(OWNERS, OWNERS),
    "link-release-all": Route(NOBODY, OWNERS),
    "link-batch-stop": Route(MANAGERS, MANAGERS, of=_batch),
    "link-batch-release": Route(NOBODY, MANAGERS, of=_batch),
    "link-detail": Route(of=_link),
    "link-edit": Route(MANAGERS, MANAGERS, of=_link),
    "link-disable": Route(MANAGERS, MANAGERS, of=_link),
    "link-enable": Route(NOBODY, MANAGERS, of=_link),
    "link-qr-svg": Route(of=_link, kind=Kind.FILE),
    "link-qr-png": Route(of=_link, kind=Kind.FILE),
    "message-list": Route(),
    "message-export": Route(kind=Kind.FILE),
    "message-detail": Route(of=_message),
    "message-status": Route(of=_message, kind=Kind.PART),
    "send": Route(MANAGERS, MANAGERS),
    "send-channels": Route(MANAGERS, kind=Kind.PART),
    "send-check": Route(MANAGERS, MANAGERS, of=_message),
    "message-evidence": Route(MANAGERS, of=_message, kind=Kind.FILE),
    "key-list": Route(READERS),
    "key-create": Route(MANAGERS, MANAGERS),
    "key-create-client": Route(MANAGERS, MANAGERS),
    "key-client": Route(READERS),
    "key-rotate": Route(MANAGERS, MANAGERS, of=_key),
    "key-revoke": Route(MANAGERS, MANAGERS, of=_key),
    "request-list": Route(READERS),
    "request-detail": Route(READERS, of=_request),
    "settings": Route(READERS, MANAGERS),
    "saved-filter-create": Route(EVERYONE, EVERYONE),
    "policy": Route(READERS),
    "policy-savings": Route(READERS),
    "policy-rule-create": Route(MANAGERS, MANAGERS),
    "policy-rule-edit": Route(MANAGERS, MANAGERS, of=_rule),
    "policy-rule-delete": Route(MANAGERS, MANAGERS, of=_rule),
    "protection": Route(READERS),
    "protection-mode": Route(NOBODY, MANAGERS),
    "protection-let-through": Route(NOBODY, MANAGERS),
    "protection-replay": Route(NOBODY, MANAGERS),
    "protection-replay-status": Route(READERS, kind=Kind.PART),
    "protection-lift": Route(MANAGERS, MANAGERS, of=_restriction),
    "budget-edit": Route(READERS, OWNERS),
    "webhook-list": Route(READERS),
    "webhook-create": Route(MANAGERS, MANAGERS),
    "webhook-detail": Route(READERS, of=_endpoint),
    "webhook-edit": Route(MANAGERS, MANAGERS, of=_endpoint),
    "webhook-switch": Route(NOBODY, MANAGERS, of=_endpoint),
    "webhook-rotate": Route(MANAGERS, MANAGERS, of=_endpoint),
    "webhook-delete": Route(MANAGERS, MANAGERS, of=_endpoint),
    "webhook-test": Route(NOBODY, MANAGERS, of=_endpoint),
    "webhook-replay": Route(NOBODY, MANAGERS, of=_endpoint),
    "delivery-detail": Route(READERS, of=_delivery),
    "delivery-status": Route(READERS, of=_delivery, kind=Kind.PART),
    "delivery-replay": Route(NOBODY, MANAGERS, of=_delivery),
    "hook-list": Route(READERS),
    "hook-create": Route(MANAGERS, MANAGERS),
    "hook-detail": Route(READERS, of=_hook),
    "hook-edit": Route(MANAGERS, MANAGERS, of=_hook),
    "hook-rotate": Route(MANAGERS, MANAGERS, of=_hook),
    "hook-revoke": Route(MANAGERS, MANAGERS, of=_hook),
    "hook-try": Route(NOBODY, MANAGERS, of=_hook),
    "balance": Route(MONEY_READERS, MONEY),
    "balance-quote": Route(MONEY_READERS, kind=Kind.PART),
    "balance-alert": Route(NOBODY, MONEY),
    "balance-alert-add": Route(NOBODY, MONEY),
    "balance-alert-remove": Route(NOBODY, MONEY, of=_balance_alert),
    "balance-statement": Route(MONEY_READERS),
    "balance-csv": Route(MONEY_READERS, kind=Kind.FILE),
    "balance-seals": Route(MONEY_READERS),
    "document-list": Route(MONEY_READERS),
    "document-download": Route(MONEY_READERS, of=_document_pdf, kind=Kind.FILE),
    "balance-automatic": Route(MONEY_READERS, MONEY),
    "balance-automatic-pay": Route(NOBODY, MONEY),
    "balance-automatic-off": Route(NOBODY, MONEY),
    "balance-automatic-resume": Route(MONEY_READERS, MONEY, kind=Kind.FILE),
    "balance-method-remove": Route(NOBODY, MONEY),
    "document-send": Route(NOBODY, MONEY, of=_document),
    "period-pdf": Route(MONEY_READERS, kind=Kind.FILE),
    "period-csv": Route(MONEY_READERS, kind=Kind.FILE),
    "reconciliation-pdf": Route(MONEY_READERS, kind=Kind.FILE),
    "statement-check": Route(MONEY_READERS, MONEY_READERS),
    "balance-heads": Route(MONEY_READERS, kind=Kind.FILE),
    "balance-profile": Route(MONEY_READERS, MONEY),
    "balance-order-list": Route(MONEY_READERS),
    "balance-order": Route(MONEY_READERS, of=_order),
    "balance-order-status": Route(MONEY_READERS, of=_order, kind=Kind.PART),
    "balance-order-cancel": Route(MONEY, MONEY, of=_order),
    "balance-invoice": Route(MONEY_READERS, of=_order, kind=Kind.FILE),
    "settings-preview": Route(READERS, kind=Kind.PART),
    "text-list": Route(READERS),
    "text-create": Route(MANAGERS, MANAGERS),
    "text-edit": Route(MANAGERS, MANAGERS, of=_text),
    "text-delete": Route(MANAGERS, MANAGERS, of=_text),
    "text-preview": Route(READERS, kind=Kind.PART),
    "autofill-edit": Route(MANAGERS, MANAGERS),
    "autofill-preview": Route(READERS, kind=Kind.PART),
    "test-phone": Route(READERS),
    "member-list": Route(READERS),
    "member-invite": Route(OWNERS, OWNERS),
    "member-role": Route(OWNERS, OWNERS, of=_colleague),
    "member-sessions": Route(OWNERS, OWNERS, of=_colleague),
    "member-remove": Route(OWNERS, OWNERS, of=_colleague),
    "invitation-revoke": Route(NOBODY, OWNERS, of=_invitation),
    "company-export": Route(OWNERS, OWNERS),
    "company-export-status": Route(OWNERS, of=_export, kind=Kind.PART),
    "company-export-zip": Route(OWNERS, of=_export, kind=Kind.FILE),
    "company-export-delete": Route(NOBODY, OWNERS, of=_export),
    "company-delete": Route(OWNERS, OWNERS),
    "company-keep": Route(NOBODY, OWNERS),
    "audit-list": Route(MANAGERS),
    "audit-export": Route(MANAGERS, kind=Kind.FILE),
    "csv-files": Route(),
    "csv-file-request": Route(EVERYONE, EVERYONE, of=_csv_kind, is_shared=True),
}

# What asks for a signed-in person and no role: the entry of the cabinet, and one's own account.
PERSON = {
    "company-create",
    "company-switch",
    "account_logout",
    "account_email",
    "account_change_password",
    "account_reauthenticate",
    "profile",
    "session-list",
    "mfa_index",
    "mfa_activate_totp",
    "mfa_list_webauthn",
    "mfa_add_webauthn",
}
# The same, once the person has an authenticator app and a passkey.
GUARDED = {
    "mfa_deactivate_totp",
    "mfa_view_recovery_codes",
    "mfa_generate_recovery_codes",
    "mfa_reauthenticate",
    "mfa_reauthenticate_webauthn",
    "mfa_remove_webauthn",
    "mfa_edit_webauthn",
}
VISITOR = {
    "home",
    "status",
    "invitation-join",
    "notice-unsubscribe",
    "account_login",
    "account_signup",
    "account_inactive",
    "account_reset_password",
    "account_reset_password_done",
    "account_reset_password_from_key",
    "account_reset_password_from_key_done",
    "account_email_verification_sent",
    "account_confirm_email",
    "admin:login",
    "invoice",
    "sandbox-gateway",
}
DOCS = {  # open to everyone: tests/api_docs
    "docs",
    "docs-page",
    "docs-markdown",
    "docs-search",
    "llms",
}
HALFWAY = {"mfa_authenticate"}  # the password was correct, the second step is to come
SINGLE_SIGN_ON = {  # missing unless a provider is configured: tests/accounts/oidc
    "sso-callback",
    "sso-required",
    "sso-reauthenticate",
    "sso-connect",
    "sso-disconnect",
    "sso-identity",
}
NO_PAGE = {
    "language",  # only POST
    "docs-key",  # the same
    "session-end",
    "session-end-others",
    # One person's own: tests/cabinet/test_csv_export_views.py
    *("csv-file", "csv-file-status", "csv-file-delete"),
    "saved-filter-delete",  # of only one person: tests/cabinet/test_saved_filters.py
    "mfa_download_recovery_codes",
    "mfa_login_webauthn",  # JSON for the script of the sign-in page
    "account_set_password",  # for people without a password, of whom there are none
    "account_confirm_login_code",  # codes by e-mail are off
    "sso-start",  # only POST, and missing unless a provider is configured
    "invoice-file",  # a PDF for anybody with the link: tests/billing
    "document-file",  # the same
    "second-factor-required",  # where a company requires one: tests/cabinet
    "follow",  # the redirect: tests/links
    "notice-dismiss",  # only POST: tests/operator_admin/incidents
    "status-json",  # for machines: tests/operator_admin/status
    "status-feed",  # the same
    *("widget", "widget-ru"),  # scripts for companies' own pages: tests/otp/web
}
TABLES: list[set[str]] = [
    set(CABINET),
    PERSON,
    GUARDED,
    VISITOR,
    DOCS,
    HALFWAY,
    SINGLE_SIGN_ON,
    NO_PAGE,
]


def address(name: str, company: Company) -> str:
    of = CABINET[name].of
    return reverse(name, kwargs=of(company) if of else None)


def names() -> set[str]:
    """The names in the URLconf, except those of the operators' pages and the API."""
    return {name for name, path in _walk(get_resolver()) if name and not path.startswith("api/")}


def _walk(resolver: URLResolver, space: str = "", path: str = "") -> Iterator[tuple[str, str]]:
    for pattern in resolver.url_patterns:
        here = path + str(pattern.pattern)
        if isinstance(pattern, URLPattern):
            yield (f"{space}{pattern.name}" if pattern.name else ""), here
        elif pattern.namespace != "admin":
            inner = f"{space}{pattern.namespace}:" if pattern.namespace else space
            yield from _walk(pattern, inner, here)
        else:
            yield "admin:login", here
