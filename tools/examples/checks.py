"""The expected effect of each example, and webhooks that examples must accept or refuse."""

import base64
import os
import re
import secrets
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import requests
from standardwebhooks import Webhook

from config.local.processes import signal_group
from tools.examples import languages
from tools.examples.languages import Language, Toolchain
from tools.examples.service import Service, bad_network
from tools.stack.stack import free_ports

# Spaces, an escaped slash and Cyrillic, which would not survive parsing and serialising again.
BODY = (
    '{"type":  "message.delivered", "timestamp": "2026-11-20T09:05:00Z",'
    ' "data": {"id": "msg_1", "text": "Код\\/\\u043a\\u043e\\u0434 доставлен"}}'
)


@dataclass(frozen=True)
class WebhookCase:
    name: str
    is_genuine: bool
    headers: Mapping[str, str]
    body: bytes = field(default=BODY.encode())


def new_secret() -> str:
    return f"whsec_{base64.b64encode(secrets.token_bytes(24)).decode()}"


def signed(secret: str, *, sent_ago: float = 0) -> dict[str, str]:
    sent_at = datetime.now(UTC) - timedelta(seconds=sent_ago)
    name = f"evt_{secrets.token_hex(8)}"
    return {
        "webhook-id": name,
        "webhook-timestamp": str(int(sent_at.timestamp())),
        "webhook-signature": Webhook(secret).sign(name, sent_at, BODY),
    }


def cases(secret: str) -> list[WebhookCase]:
    """The webhooks sent to a receiver that knows `secret`."""
    genuine, foreign = signed(secret), signed(new_secret())
    both = f"{foreign['webhook-signature']} {genuine['webhook-signature']}"
    flipped = bytearray(BODY.encode())
    flipped[BODY.index("msg_1") + 4] ^= 1  # still JSON
    valid = [
        ("genuine", genuine),
        ("4 minutes old", signed(secret, sent_ago=240)),
        ("second signature", genuine | {"webhook-signature": both}),
    ]
    invalid = [
        ("6 minutes old", signed(secret, sent_ago=360)),
        ("6 minutes ahead", signed(secret, sent_ago=-360)),
        ("changed time", genuine | {"webhook-timestamp": str(int(time.time()) + 1)}),
        ("another id", genuine | {"webhook-id": "evt_other"}),
        ("another secret", foreign),
        ("no signature", genuine | {"webhook-signature": "v1,"}),
        ("words for a time", genuine | {"webhook-timestamp": "now"}),
        ("no headers", {}),
    ]
    return [
        *(WebhookCase(name, True, headers) for name, headers in valid),
        WebhookCase("flipped bit", False, genuine, bytes(flipped)),
        *(WebhookCase(name, False, headers) for name, headers in invalid),
    ]


@contextmanager
def receiver(
    command: Sequence[str | Path], *, address: bool, env: Mapping[str, str], log: Path
) -> Iterator[str]:
    """Starts an example's receiver; yields its URL. With `address`, passes the address as an
    argument, like to PHP's server.
    """
    (port,) = free_ports(1)
    runner, *options = command
    arguments = [runner, "-S", f"127.0.0.1:{port}", *options] if address else command
    with log.open("wb") as output:
        process = subprocess.Popen(  # noqa: S603 - an example
            arguments,
            env={**os.environ, **env, "PORT": str(port)},
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # it may be a wrapper: tsx is
        )
        try:
            _wait_listening(process, port)
            yield f"http://127.0.0.1:{port}/webhooks"
        finally:
            signal_group(process, signal.SIGKILL)
            process.wait()


def post_webhook(url: str, case: WebhookCase) -> int:
    """The status of the answer; 0 without one."""
    headers = {"Content-Type": "application/json", **case.headers}
    try:
        return requests.post(url, data=case.body, headers=headers, timeout=10).status_code
    except requests.RequestException:
        return 0


def _wait_listening(process: "subprocess.Popen[bytes]", port: int) -> None:
    deadline = time.monotonic() + 30
    while True:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        if process.poll() is not None or time.monotonic() > deadline:
            raise OSError("it does not listen")
        time.sleep(0.05)


LINK = "https://example.com/orders/77?from=sms&x=1"
_SECONDS = 120  # for an example: four tries, on a slow machine


class FailedError(Exception):
    """An example did not have the expected effect."""


def expect(truth: object, message: str) -> None:
    if not truth:
        raise FailedError(message)


@dataclass(frozen=True)
class ExampleRun:
    """A language, ready to be run against a service."""

    language: Language
    toolchain: Toolchain
    service: Service

    def run(self, stem: str, environ: Mapping[str, str], stdin: bytes = b"") -> tuple[int, str]:
        variables = {
            "KVITOK_URL": self.service.url,
            "KVITOK_KEY": self.service.key,
            "LANG": "C.UTF-8",
        }
        env = {**os.environ, **variables, **environ}
        return languages.run(self.command(stem), env=env, stdin=stdin, seconds=_SECONDS)

    def command(self, stem: str) -> list[str | Path]:
        return list(self.toolchain.command(self.language.file(stem)))

    def says(self, pattern: str, stem: str, *, code: int = 0, **environ: str) -> re.Match[str]:
        """Runs an example, which must end with this exit code and print a line like the pattern."""
        ended, output = self.run(stem, environ)
        match = re.search(f"^{pattern}$", output, re.MULTILINE)
        if ended != code or match is None:
            raise FailedError(f"exit code {ended}, {output[-500:]!r} instead of {pattern!r}")
        return match


def phone(ending: str = "") -> str:
    """A Russian mobile number, with `ending` one whose outcome the test phone scripts."""
    return f"+79{secrets.randbelow(10**5):05d}{ending or secrets.randbelow(9000) + 1000}"


def send_code(trial: ExampleRun) -> None:
    number = phone()

    match = trial.says(r"(.+), valid for (\d+) s: (msg_\w+)", "send_code", PHONE=number)

    (sent,) = trial.service.messages(number)
    expect(match[3] == sent["id"], f"{match[3]} is not {sent['id']}")
    expect(match[1] == "Код отправлен в WhatsApp", f"it read the message as {match[1]!r}")
    expect(290 <= int(match[2]) <= 300, f"{match[2]} s")
    trial.says(r"invalid_phone: .+ \(request req_\w+\)", "send_code", code=1, PHONE=phone("0001"))
    _survives_a_proxy(trial, "send_code")


def verify_code(trial: ExampleRun) -> None:
    number = phone()
    trial.says(r".+", "send_code", PHONE=number)
    code = str(trial.service.messages(number)[0]["code"])
    wrong = code[:-1] + str((int(code[-1]) + 1) % 10)

    trial.says("wrong code, 4 attempts left", "verify_code", code=1, PHONE=number, CODE=wrong)
    trial.says(r"verified at 20\d\d-.+", "verify_code", PHONE=number, CODE=code)
    trial.says("code_used: .+", "verify_code", code=1, PHONE=number, CODE=code)
    _survives_a_proxy(trial, "verify_code", CODE=code)


def shorten(trial: ExampleRun) -> None:
    match = trial.says(r"(http\S+) until 20\d\d-.+", "shorten", LINK=LINK)

    _leads_to_link(match[1])
    trial.says("invalid_input: .+", "shorten", code=1, LINK="javascript:alert(1)")
    _survives_a_proxy(trial, "shorten")


def send_link(trial: ExampleRun) -> None:
    number = phone()

    match = trial.says("(http.+) by whatsapp: delivered", "send_link", PHONE=number, LINK=LINK)

    (sent,) = trial.service.messages(number)
    # WhatsApp has the link on a button below the text.
    expect(sent["text"] == "Your order is on its way", f"it said {sent['text']!r}")
    expect(sent["short_url"] == match[1], f"the link was {sent['short_url']!r}")
    _leads_to_link(match[1])
    _survives_a_proxy(trial, "send_link")


def _leads_to_link(short_url: str) -> None:
    response = requests.get(short_url, allow_redirects=False, timeout=10)
    expect(response.headers.get("Location") == LINK, f"{short_url}: {response.status_code}")


def handle_errors(trial: ExampleRun) -> None:
    for ending, pattern in (
        ("0001", "correct the request: invalid_phone.*"),
        ("0002", r"top up: \d+ needed, \d+ available"),
        ("0005", r"wait 60 s: resend_too_soon"),
    ):
        trial.says(pattern, "handle_errors", code=1, PHONE=phone(ending))
    trial.says(
        "correct the request: invalid_input.*phone.*", "handle_errors", code=1, PHONE="1" * 99
    )
    trial.says("check the API key", "handle_errors", code=1, PHONE=phone(), KVITOK_KEY="kv_test_x")
    _one_message_through_a_bad_network(trial)
    _survives_a_proxy(trial, "handle_errors")


def _one_message_through_a_bad_network(trial: ExampleRun) -> None:
    number = phone()

    with bad_network(trial.service.url) as network:
        code, output = trial.run("handle_errors", {"PHONE": number, "KVITOK_URL": network.url})

    pauses = re.findall(r"^trying again in (\d+) s$", output, re.MULTILINE)
    expect((code, pauses) == (0, ["1", "2", "3"]), f"exit code {code}, {output[-500:]!r}")
    expect(output.endswith("sent by whatsapp"), f"{output[-200:]!r}")
    expect(network.hung_up, "it waits for an answer without end")
    expect(len(network.keys) == 4 and len(set(network.keys)) == 1, f"keys {network.keys}")
    expect(network.keys[0] and network.replayed, "the last answer was not the first one's")
    expect(len(trial.service.messages(number)) == 1, "more than one message was sent")


def _survives_a_proxy(trial: ExampleRun, stem: str, **environ: str) -> None:
    """A proxy's error page is reported as such; an example without retries calls once."""
    with bad_network(trial.service.url, is_down=True) as network:
        variables = {"KVITOK_URL": network.url, "PHONE": phone(), "LINK": LINK, **environ}
        trial.says(".*no answer.*", stem, code=1, **variables)
    tries = 4 if stem == "handle_errors" else 1
    expect(len(network.keys) == tries, f"{len(network.keys)} requests to a proxy that answers 502")
    expect(len(set(network.keys)) == 1, f"keys {network.keys}")


def verify_webhook(trial: ExampleRun) -> None:
    secret = new_secret()
    sent = cases(secret)
    if trial.language.name == "curl":  # has no receiver
        wrong = [case.name for case in sent if not _judged(trial, secret, case)]
        expect(not wrong, f"misjudged: {', '.join(wrong)}")
        return
    with tempfile.TemporaryDirectory(prefix="kvitok-webhook-") as directory:
        log = Path(directory) / "log"
        with receiver(
            trial.command("verify_webhook"),
            address=trial.language.name == "php",
            env={"KVITOK_SECRET": secret},
            log=log,
        ) as url:
            statuses = {case.name: post_webhook(url, case) for case in sent}
        output = log.read_text(encoding="utf-8", errors="replace")
    wrong = [case.name for case in sent if statuses[case.name] != (204 if case.is_genuine else 400)]
    expect(not wrong, f"misjudged: {', '.join(wrong)}; {output[-300:]!r}")
    genuine = sum(case.is_genuine for case in sent)
    expect(output.count("message.delivered") == genuine, f"it acted on others: {output[-300:]!r}")


def _judged(trial: ExampleRun, secret: str, case: WebhookCase) -> bool:
    headers = {name.upper().replace("-", "_"): value for name, value in case.headers.items()}
    code, output = trial.run("verify_webhook", {"KVITOK_SECRET": secret, **headers}, case.body)
    return (code == 0 and "message.delivered" in output) is case.is_genuine


CHECKS: dict[str, Callable[[ExampleRun], None]] = {
    "send_code": send_code,
    "verify_code": verify_code,
    "shorten": shorten,
    "send_link": send_link,
    "handle_errors": handle_errors,
    "verify_webhook": verify_webhook,
}
