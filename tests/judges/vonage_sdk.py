"""Vonage's Python client, unmodified, against the running service.

`vonage_sdk.py ADDRESS KEY READER APPLICATION_ID PRIVATE_KEY`

ADDRESS is the dialect's, KEY a test key for clients, READER an ordinary test key that reads what
phones show; the last two sign tokens. The client speaks only HTTPS, so a proxy with a certificate
of its own stands in front of the service.
"""

import ipaddress
import os
import ssl
import sys
import tempfile
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.x509.oid import NameOID

from tests.judges import sdk_cases
from tests.judges.sdk_cases import equal, new_phone

ADDRESS, KEY, READER, APPLICATION_ID, PRIVATE_KEY = sys.argv[1:6]
SITE = urlsplit(ADDRESS)
code_at = partial(sdk_cases.code_at, ADDRESS, READER)


def phone(ending: str = "0000") -> str:
    """Returns the phone as bare digits, as Vonage's clients write it."""
    return new_phone(ending).removeprefix("+")


class Proxy(BaseHTTPRequestHandler):
    def forward(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        connection = HTTPConnection(SITE.netloc, timeout=20)
        headers = {name: text for name, text in self.headers.items() if name != "Host"}
        connection.request(self.command, self.path, body, headers)
        response = connection.getresponse()
        said = response.read()
        self.send_response(response.status)
        for name, text in response.getheaders():
            if name.lower() not in {"connection", "transfer-encoding"}:
                self.send_header(name, text)
        self.end_headers()
        self.wfile.write(said)

    # The library's names.
    do_GET = forward  # noqa: N815
    do_POST = forward  # noqa: N815
    do_PATCH = forward  # noqa: N815
    do_DELETE = forward  # noqa: N815

    def log_message(self, *_args: object) -> None:
        pass


def secure_host() -> str:
    """Starts the proxy; makes the libraries trust its certificate."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.now(UTC)
    address = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(address, critical=False)
        .sign(key, hashes.SHA256())
    )
    file = Path(tempfile.mkdtemp(), "proxy.pem")
    pem = serialization.Encoding.PEM
    secret = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    file.write_bytes(secret + certificate.public_bytes(pem))
    server = ThreadingHTTPServer(("127.0.0.1", 0), Proxy)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    os.environ["REQUESTS_CA_BUNDLE"] = str(file)
    return f"127.0.0.1:{server.server_port}{SITE.path}"


HOST = secure_host()

from vonage import Auth, HttpClientOptions, Vonage  # noqa: E402 - after the certificate is trusted
from vonage_http_client.errors import HttpRequestError  # noqa: E402
from vonage_verify import (  # noqa: E402
    SilentAuthChannel,
    SmsChannel,
    VerifyRequest,
    VoiceChannel,
    WhatsappChannel,
)


def client(**auth: str) -> Any:
    return Vonage(Auth(**auth), HttpClientOptions(api_host=HOST)).verify


def request_to(number: str, **more: Any) -> Any:
    steps = more.pop("workflow", [SmsChannel(to=number)])
    return VerifyRequest(brand="ACME", workflow=steps, **more)


def refused(call: Callable[[], Any]) -> tuple[int, dict[str, Any]]:
    try:
        call()
    except HttpRequestError as error:
        return error.response.status_code, error.response.json()
    raise AssertionError("not refused")


def by_each_way() -> list[Any]:
    """Returns clients with basic credentials, and with tokens that they sign."""
    signed = {"application_id": APPLICATION_ID, "private_key": Path(PRIVATE_KEY).read_text()}
    return [client(api_key="any", api_secret=KEY), client(**signed)]


def code_is_checked(verify: Any) -> None:
    number = phone()
    started = verify.start_verification(request_to(number, locale="en-gb", client_ref="order-7"))
    assert started.check_url is None
    status, problem = refused(lambda: verify.start_verification(request_to(number)))
    equal((status, problem["title"], problem["request_id"]), (409, "Conflict", started.request_id))
    code = code_at(number)
    status, problem = refused(lambda: verify.check_code(started.request_id, code[::-1] + "1"))
    equal((status, problem["title"]), (400, "Invalid Code"))
    equal(problem["detail"], "The code you provided does not match the expected value.")
    equal(verify.check_code(started.request_id, code).status, "completed")
    status, problem = refused(lambda: verify.check_code(started.request_id, code))
    equal((status, problem["title"]), (404, "Not Found"))


def guesses_end_the_workflow(verify: Any) -> None:
    number = phone()
    started = verify.start_verification(request_to(number))
    wrong = "0000" if code_at(number) != "0000" else "1111"
    responses = [refused(lambda: verify.check_code(started.request_id, wrong)) for _try in range(6)]
    equal([status for status, _problem in responses], [400] * 4 + [410] * 2)
    equal(responses[-1][1]["type"], "https://developer.nexmo.com/api-errors#gone")


def workflow_is_canceled(verify: Any) -> None:
    number = phone()
    started = verify.start_verification(request_to(number))
    equal(verify.cancel_verification(started.request_id), None)
    equal(refused(lambda: verify.cancel_verification(started.request_id))[0], 404)
    assert verify.start_verification(request_to(number)).request_id != started.request_id


def next_step_is_taken(verify: Any) -> None:
    number = phone()
    steps = [
        SilentAuthChannel(to=number),
        SmsChannel(to=number, from_="ACME"),
        VoiceChannel(to=number),
        WhatsappChannel(to=number, from_="79000000000"),
    ]
    started = verify.start_verification(request_to(number, workflow=steps, channel_timeout=60))
    equal(verify.trigger_next_workflow(started.request_id), None)
    status, problem = refused(lambda: verify.trigger_next_workflow(started.request_id))
    equal((status, problem["title"]), (409, "Conflict"))
    equal(problem["detail"], "There are no more events left to trigger.")
    equal(verify.check_code(started.request_id, code_at(number)).status, "completed")


def lengths_and_custom_codes(verify: Any) -> None:
    short, own = phone(), phone()
    started = verify.start_verification(request_to(short, code_length=4))
    equal(len(code_at(short)), 4)
    equal(verify.check_code(started.request_id, code_at(short)).status, "completed")
    started = verify.start_verification(request_to(own, code="aB3dE6"))
    equal(refused(lambda: verify.check_code(started.request_id, "AB3dE6"))[0], 400)
    equal(verify.check_code(started.request_id, "aB3dE6").status, "completed")


def numbers_are_refused(verify: Any) -> None:
    for ending, expected in (("0001", 422), ("0002", 402), ("0011", 429), ("0015", 403)):
        status, problem = refused(
            lambda end=ending: verify.start_verification(request_to(phone(end)))
        )
        equal(status, expected)
        assert problem.keys() >= {"type", "title", "detail", "instance"}
    voice = request_to("79160000000", workflow=[VoiceChannel(to="79160000000")])
    status, problem = refused(lambda: verify.start_verification(voice))
    equal((status, problem["invalid_parameters"][0]["name"]), (422, "workflow[0].channel"))


def strangers_are_refused(_verify: Any) -> None:
    stranger = client(api_key="any", api_secret="kv_test_x")
    status, problem = refused(lambda: stranger.start_verification(request_to(phone())))
    equal((status, problem["title"]), (401, "Unauthorized"))


CASES = [
    code_is_checked,
    guesses_end_the_workflow,
    workflow_is_canceled,
    next_step_is_taken,
    lengths_and_custom_codes,
    numbers_are_refused,
    strangers_are_refused,
]
for case in CASES:
    for verify in by_each_way():
        case(verify)
sys.stdout.write(f"{2 * len(CASES)} cases passed\n")
