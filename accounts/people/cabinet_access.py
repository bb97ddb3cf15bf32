"""Access to cabinet pages by role, and the company a member acts for."""

from collections.abc import Callable
from functools import wraps
from operator import attrgetter
from typing import Concatenate, ParamSpec, TypedDict, cast
from urllib.parse import urlencode

from allauth.core.ratelimit import respond_429
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.http import (
    HttpRequest,
    HttpResponse,
    HttpResponseNotAllowed,
    HttpResponseRedirect,
)
from django.http.response import HttpResponseBase
from django.middleware.csrf import rotate_token
from django.urls import reverse
from django.utils.translation import gettext as _
from django_htmx.http import HttpResponseClientRefresh
from django_htmx.middleware import HtmxDetails

from accounts.models import Company, Member, User
from accounts.security import sessions
from accounts.security.change_limit import exceeds_change_limit
from accounts.security.reauthentication import DRAFT, has_factor
from processes.server.client_ip import client_ip

P = ParamSpec("P")
Allows = Callable[[Member], bool]
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
_COMPANY = "company"  # session key: the id of the company that pages act for


class Actor(TypedDict):
    """The person who changes something, as the audit log keeps it."""

    user: User
    ip: str


class CabinetRequest(HttpRequest):
    """The request of a view decorated with `member_required`."""

    user: User
    member: Member
    company: Company
    memberships: list[Member]
    actor: Actor
    htmx: HtmxDetails


def anyone(member: Member) -> bool:
    return True


def nobody(member: Member) -> bool:
    return False


can_read_technical_pages: Allows = attrgetter("can_read_technical_pages")
can_read_settings = can_read_technical_pages
can_manage_keys: Allows = attrgetter("can_manage_keys")
can_change_settings: Allows = attrgetter("can_change_settings")
can_see_money: Allows = attrgetter("can_see_money")
can_manage_money: Allows = attrgetter("can_manage_money")
can_manage_members: Allows = attrgetter("can_manage_members")


def all_memberships(request: HttpRequest) -> list[Member]:
    """All memberships, including those effective only in a session of the identity provider."""
    user = request.user if hasattr(request, "user") else None
    if not isinstance(user, User):
        return []
    rows = user.memberships.select_related("company").order_by("created_at", "id")
    return list(rows)


def is_in_force(request: HttpRequest, member: Member) -> bool:
    if not member.from_provider:
        return True
    user = request.user
    return isinstance(user, User) and sessions.is_from_provider(request, user)


def memberships(request: HttpRequest) -> list[Member]:
    """The memberships that are effective in this session, oldest first, read once per request."""
    cabinet = cast(CabinetRequest, request)
    if not hasattr(request, "memberships"):
        rows = all_memberships(request)
        cabinet.memberships = [member for member in rows if is_in_force(request, member)]
    return cabinet.memberships


def current_member(request: HttpRequest) -> Member | None:
    """The membership in the company chosen in this session, or in the first one."""
    members = memberships(request)
    company_id = request.session.get(_COMPANY) if members else None
    return next(
        (row for row in members if row.company_id == company_id), members[0] if members else None
    )


def choose_company(request: HttpRequest, company_id: int) -> None:
    """Makes the session act for this company. Forms of another company that are open in other tabs,
    or wait for reauthentication, become invalid: they would change this company.
    """
    if request.session.get(_COMPANY) == company_id:
        return
    request.session[_COMPANY] = company_id
    request.session.pop(DRAFT, None)
    rotate_token(request)


def _was_left(request: HttpRequest, member: Member) -> bool:
    """Whether the session acted for another company, which the user has left."""
    company_id = request.session.get(_COMPANY)
    if company_id is None and len(memberships(request)) > 1:
        # The first company; no form of another one can be open yet.
        request.session[_COMPANY] = member.company_id
    return company_id not in (None, member.company_id)


def _redirect_to(member: Member, request: CabinetRequest) -> HttpResponse:
    text = _("You are no longer a member of that page's company. You are now acting for %(name)s.")
    messages.warning(request, text % {"name": member.company.name})
    if request.htmx:
        return HttpResponseClientRefresh()
    return HttpResponseRedirect(reverse("overview"))


def redirect_without_company(request: HttpRequest) -> HttpResponseRedirect:
    if all_memberships(request):
        return redirect_to_provider(request.get_full_path())
    return HttpResponseRedirect(reverse("company-create"))


def redirect_to_provider(next_url: str) -> HttpResponseRedirect:
    """Redirects to the page that asks for a session of the identity provider."""
    return HttpResponseRedirect(f"{reverse('sso-required')}?{urlencode({'next': next_url})}")


def lacks_second_factor(request: HttpRequest, member: Member) -> bool:
    """Whether the company requires a second factor that the user lacks. The identity provider has a
    second step of its own.
    """
    if not member.company.requires_second_factor:
        return False
    user = cast(User, request.user)
    return not (has_factor(user) or sessions.is_from_provider(request, user))


def redirect_to_second_factor(request: CabinetRequest) -> HttpResponse:
    if request.htmx:
        return HttpResponseClientRefresh()
    return HttpResponseRedirect(reverse("second-factor-required"))


def _response_instead(request: CabinetRequest, *, is_recorded: bool) -> HttpResponse | None:
    """The response instead of the page: a step to complete first, or 429 after many changes."""
    if lacks_second_factor(request, request.member):
        return redirect_to_second_factor(request)
    return respond_429(request) if is_recorded and exceeds_change_limit(request.user) else None


def member_required(
    to_read: Allows = anyone, to_change: Allows = nobody, *, is_recorded: bool = False
) -> Callable[
    [Callable[Concatenate[CabinetRequest, P], HttpResponseBase]],
    Callable[Concatenate[HttpRequest, P], HttpResponseBase],
]:
    """Restricts a view to roles that `to_read` or `to_change` allow; sets `company`, `member`.

    `is_recorded`: a GET writes an audit event, like a change.
    """

    def decorate(
        view: Callable[Concatenate[CabinetRequest, P], HttpResponseBase],
    ) -> Callable[Concatenate[HttpRequest, P], HttpResponseBase]:
        @wraps(view)
        def guarded(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
            member = current_member(request)
            if member is None:
                return redirect_without_company(request)
            cabinet = cast(CabinetRequest, request)
            if _was_left(request, member):
                choose_company(request, member.company_id)
                return _redirect_to(member, cabinet)
            is_read = request.method in SAFE_METHODS
            allows = to_read if is_read else to_change
            if allows is nobody:
                return HttpResponseNotAllowed(["POST"] if is_read else ["GET", "HEAD"])
            if not allows(member):
                raise PermissionDenied
            cabinet.member = member
            cabinet.company = member.company
            cabinet.actor = Actor(user=cabinet.user, ip=client_ip(request.META))
            response = _response_instead(cabinet, is_recorded=is_recorded or not is_read) or view(
                cabinet, *args, **kwargs
            )
            response.company_id = member.company_id  # type: ignore[attr-defined]  # whose it is
            return response

        @wraps(view)
        def signed_in(
            request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs
        ) -> HttpResponseBase:
            # A polling fragment must not swap the sign-in form into the middle of a page.
            if not request.user.is_authenticated and cast(CabinetRequest, request).htmx:
                return HttpResponseClientRefresh()
            return login_required(guarded)(request, *args, **kwargs)

        return signed_in

    return decorate
