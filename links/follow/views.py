"""The redirect as a Django view, for servers without the middleware in front."""

from django.http import HttpRequest, HttpResponse
from django.views.decorators.csrf import csrf_exempt

from links.follow.redirect import company_host_id
from links.follow.responder import respond


@csrf_exempt  # forms of links carry a nonce; any other POST gets 405
def follow(request: HttpRequest, slug: str) -> HttpResponse:
    host_id = company_host_id(request.META.get("HTTP_HOST", ""))
    status, headers, body = respond(slug, request.META, host_id)
    response = HttpResponse(body, status=int(status[:3]), headers=dict(headers))
    if not body and "Content-Type" not in dict(headers):
        del response["Content-Type"]
    return response
