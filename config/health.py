"""Is this process alive, and can it do its work?"""

from django.db import Error as DatabaseError
from django.db import connection
from django.http import HttpRequest, HttpResponse


def livez(_request: HttpRequest) -> HttpResponse:
    return HttpResponse("ok\n", content_type="text/plain")


def readyz(_request: HttpRequest) -> HttpResponse:
    """Ready means PostgreSQL answers. Redis is a hint: without it we serve, only slower."""
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except DatabaseError:
        return HttpResponse("database unavailable\n", status=503, content_type="text/plain")
    return HttpResponse("ok\n", content_type="text/plain")
