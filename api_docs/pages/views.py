"""The documentation and the home page: public, in the reader's language."""

from collections.abc import Callable
from functools import cache, wraps

from django.conf import settings
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import translation
from django.utils.translation import gettext
from django.views.decorators.debug import sensitive_variables

from accounts import key_issuing
from accounts.models import Mode
from accounts.people.cabinet_access import CabinetRequest, can_manage_keys, member_required
from accounts.sign_in.adapter import remember_language as remember
from api_docs.pages import articles, contexts, page_list, samples
from api_docs.pages.page_list import Page
from api_docs.pages.search import search as found_by
from api_docs.pages.values import numbers
from billing.models import Package
from catalogue.channels import join_titles
from catalogue.languages import page_languages
from processes.server.client_ip import client_ip

COOKIE = "sample"
MAX_AGE = 365 * 86_400
MARKDOWN = "text/markdown; charset=utf-8"

View = Callable[..., HttpResponse]


def in_requested_language(view: View) -> View:
    """`?lang=en` and `?lang=ru` set the language of this page and of later ones."""

    @wraps(view)
    def wrapped(request: HttpRequest, *args: str, **kwargs: str) -> HttpResponse:
        language = request.GET.get("lang", "")
        if language not in dict(settings.LANGUAGES):
            return view(request, *args, **kwargs)
        translation.activate(language)
        response = view(request, *args, **kwargs)
        remember(response, language)
        return response

    return wrapped


@in_requested_language
def page(request: HttpRequest, slug: str = page_list.FIRST) -> HttpResponse:
    if slug in page_list.FORMER_SLUGS:
        return redirect("docs-page", page_list.FORMER_SLUGS[slug], permanent=True)
    page = _page(slug)
    return remember_language(request, _render(request, page))


@sensitive_variables("plaintext")
@member_required(can_manage_keys, can_manage_keys)
def fill_key(request: CabinetRequest, slug: str) -> HttpResponse:
    """Shows the page with a new test key in its snippets; the whole key is shown only this once."""
    page = _page(slug)
    if request.method != "POST":  # reloaded, or opened in another language
        return redirect(page.url)
    try:
        _key, plaintext = key_issuing.create_api_key(
            company=request.company,
            user=request.user,
            mode=Mode.TEST,
            name=gettext("Documentation"),
            ip=client_ip(request.META),
        )
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
        return redirect(page.url)
    return _render(request, page, fresh_key=plaintext)


def _render(request: HttpRequest, page: Page, fresh_key: str = "") -> HttpResponse:
    context = contexts.of_page(request, page, sample_language(request), fresh_key)
    text = articles.article(page, context, request)
    is_visitor = context["member"] is None
    language = page_languages.active()
    html = articles.visitor_html(text, language) if is_visitor else articles.as_html(text)
    return render(request, "docs/page.html", context | {"article": html})


@in_requested_language
def page_as_markdown(request: HttpRequest, slug: str) -> HttpResponse:
    page = _page(page_list.FORMER_SLUGS.get(slug, slug))
    article = articles.visitor_article(page, page_languages.active(), sample_language(request))
    return HttpResponse(articles.as_markdown(page, article), content_type=MARKDOWN)


@in_requested_language
def llms(request: HttpRequest) -> HttpResponse:
    """The index of pages for language models, in the format of llmstxt.org."""
    context = {
        "lang": page_languages.active(),
        "base_url": settings.PUBLIC_URL,
        "channels": join_titles(),
        "codes": ", ".join(f"`{name}`" for name in samples.BY_NAME),
        "sections": [
            (title, [(page, _first_paragraph(page, page_languages.active())) for page in group])
            for title, group in page_list.SECTIONS
        ],
    }
    return render(request, "docs/llms.txt", context, content_type="text/plain; charset=utf-8")


@cache
def _first_paragraph(page: Page, language: str) -> str:
    return articles.first_paragraph(articles.visitor_article(page, language, "curl"))


@in_requested_language
def search(request: HttpRequest) -> HttpResponse:
    query = request.GET.get("q", "").strip()
    context = {
        "lang": page_languages.active(),
        "sections": page_list.SECTIONS,
        "query": query,
        "found": found_by(query, page_languages.active()),
    }
    return render(request, "docs/search.html", context)


def _page(slug: str) -> Page:
    page = page_list.BY_SLUG.get(slug)
    if page is None:
        raise Http404
    return page


def sample_language(request: HttpRequest) -> str:
    """The requested programming language, else the last one requested, else the first."""
    name = _requested_sample(request) or request.COOKIES.get(COOKIE, "")
    return name if name in samples.BY_NAME else samples.LANGUAGES[0].name


def _requested_sample(request: HttpRequest) -> str | None:
    """The programming language in `?code=`, or in `?lang=`, which older URLs use."""
    name = request.GET.get("code", request.GET.get("lang"))
    return name if name in samples.BY_NAME else None


def remember_language(request: HttpRequest, response: HttpResponse) -> HttpResponse:
    """Stores the requested programming language, which examples then show by default."""
    language = sample_language(request)
    if language != request.COOKIES.get(COOKIE) and _requested_sample(request):
        response.set_cookie(
            COOKIE,
            language,
            max_age=MAX_AGE,
            samesite="Lax",
            secure=settings.PRODUCTION,
            httponly=True,
        )
    return response


def home(request: HttpRequest) -> HttpResponse:
    context = {
        "n": numbers(),
        "packages": Package.objects.on_sale(),
        "code_minutes": settings.CODE_LIFETIME // 60,
        "phone_days": settings.PHONE_RETENTION,
        "sample_language": sample_language(request),
    }
    return remember_language(request, render(request, "home.html", context))
