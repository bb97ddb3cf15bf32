"""Bodies without a length: .NET's and any streaming client's way to send JSON."""

from collections.abc import Iterable
from io import BytesIO
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from django.conf import settings


class Measured:
    """Reads a chunked body and gives it the length that Django goes by.

    Django reads no more than CONTENT_LENGTH says, and so nothing of a body without one. What is
    longer than any body may be is cut one byte later, which Django then refuses.
    """

    def __init__(self, application: WSGIApplication) -> None:
        self.application = application

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        if "chunked" in environ.get("HTTP_TRANSFER_ENCODING", "").lower():
            body = environ["wsgi.input"].read(settings.DATA_UPLOAD_MAX_MEMORY_SIZE + 1)
            environ["wsgi.input"] = BytesIO(body)
            environ["CONTENT_LENGTH"] = str(len(body))
        return self.application(environ, start_response)
