"""The cabinet's search: suggestions while one types, and a page of results."""

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET

from accounts.people.roles import CabinetRequest, member_required
from accounts.search import sources


@require_GET
@member_required()
def search(request: CabinetRequest) -> HttpResponse:
    text = sources.clean(request.GET.get("q", ""))
    groups = sources.find(request.member, text)
    if hit := sources.only_exact(groups):
        return redirect(hit.url)
    return render(request, "cabinet/search.html", {"query": text, "groups": groups})


@require_GET
@member_required()
def search_suggestions(request: CabinetRequest) -> HttpResponse:
    text = sources.clean(request.GET.get("q", ""))
    groups = sources.find(request.member, text)
    count = sum(len(group.hits) for group in groups)
    context = {"query": text, "groups": groups, "count": count}
    return render(request, "cabinet/search_suggestions.html", context)
