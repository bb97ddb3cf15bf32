"""better-auth and django-allauth sign people in through a hook; Logto's connector calls one."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect
from pytest_django.live_server_helper import LiveServer

from accounts.models import Company, Mode
from channels.models import Message
from identity_hooks.kinds.generic import BETTER_AUTH, OUR_CODE
from identity_hooks.models import Hook
from otp import sealed_codes
from tests.api.clients import Api, ClientOf
from tests.browser.conftest import browser
from tests.identity_hooks.calls import make_hook, secret_of
from tests.identity_hooks.servers.packages import program, run, source
from tests.ports import free_port

__all__ = ["browser"]
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.long]
PHONE = "+79990000000"
SIGNS_UP = """phoneNumber({
  signUpOnVerification: {getTempEmail: (phone) => `${phone}@example.com`},"""


@contextmanager
def site(plugin: str, **environment: str) -> Iterator[str]:
    """A site of better-auth with one of our recipes, as in the documentation."""
    plugin = plugin.replace("phoneNumber({", f"const plugin = {SIGNS_UP}", 1)
    command = program("site.mjs", source("better_auth.mjs").replace("/* PLUGIN */", plugin))
    with serving(*command, **environment) as address:
        yield address


@contextmanager
def serving(*command: str | Path, **environment: str) -> Iterator[str]:
    """The address of a site whose program takes a port first, and says when it listens."""
    port = free_port()
    name = command[:2]
    arguments = command[2:]
    with subprocess.Popen(
        [*name, str(port), *arguments], stdout=subprocess.PIPE, text=True, env=environment
    ) as server:
        try:
            assert server.stdout is not None
            assert server.stdout.readline().strip() == "listening"
            yield f"http://127.0.0.1:{port}"
        finally:
            server.terminate()


def filled(recipe: str, **values: str) -> str:
    for name, value in values.items():
        recipe = recipe.replace(f"{{{name}}}", value)
    return recipe


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A page of a site that is not ours: its console may name a refused call."""
    context = browser.new_context()
    yield context.new_page()
    context.close()


@pytest.fixture
def api(company: Company, client_of: ClientOf) -> Api:
    return client_of(company, Mode.TEST)


@pytest.fixture
def generic(company: Company) -> Hook:
    mapping = {"phone": "/phone", "code": "/code"}
    return make_hook(company, "generic", mapping=mapping)


def received(api: Api) -> str:
    """Returns the live code: a server's own code is sealed, ours is shown to a test key."""
    message = Message.objects.latest("created_at")
    if sealed := sealed_codes.find([message.pk]).get(message.pk):
        return sealed.open()
    return str(api.get("/test/messages", {"phone": PHONE}).body["data"][0]["code"])


def sign_in(page: Page, api: Api, address: str) -> None:
    page.goto(address)
    page.get_by_label("Phone").fill(PHONE)
    page.get_by_role("button", name="Send the code").click()
    expect(page.locator("#state")).to_have_text("the code is sent")
    page.get_by_label("Code").fill("00000000"[: len(received(api))])
    page.get_by_role("button", name="Enter").click()
    expect(page.locator("#state")).to_contain_text("refused")
    page.get_by_label("Code").fill(received(api))
    page.get_by_role("button", name="Enter").click()
    expect(page.locator("#state")).to_have_text(f"signed in: {PHONE}")


def test_person_signs_in_by_the_code_of_better_auth(
    page: Page, live_server: LiveServer, api: Api, generic: Hook
) -> None:
    url = f"{live_server.url}{generic.path}"
    secret = secret_of(generic)

    with site(filled(BETTER_AUTH, url=url, secret=secret)) as address:
        sign_in(page, api, address)

    message = Message.objects.get()
    assert (message.params["door"], message.mode) == ("generic", "live")


def test_person_signs_in_by_the_code_of_django_allauth(
    page: Page, live_server: LiveServer, api: Api, generic: Hook
) -> None:
    program = Path(__file__).with_name("allauth_site.py")
    told = (PHONE, f"{live_server.url}{generic.path}", secret_of(generic))

    with serving(sys.executable, program, *told) as address:
        page.goto(f"{address}/accounts/login/code/")
        page.get_by_label("Phone").fill(PHONE)
        page.get_by_role("button", name="Request Code").click()
        page.get_by_label("Code").fill("000000")
        page.get_by_role("button", name="Confirm").click()
        expect(page.get_by_text("Incorrect code.")).to_be_visible()
        page.get_by_label("Code").fill(received(api))
        page.get_by_role("button", name="Confirm").click()
        expect(page.locator("body")).to_have_text("signed in: person")

    assert Message.objects.get().source_api == "generic"


def test_person_signs_in_by_our_code(page: Page, live_server: LiveServer, api: Api) -> None:
    key = api.headers["Authorization"].removeprefix("Bearer ")
    plugin = filled(OUR_CODE, api=f"{live_server.url}/api/v1")

    with site(plugin, KVITOK_KEY=key) as address:
        sign_in(page, api, address)

    assert Message.objects.count() == 1


def logto(live_server: LiveServer, hook: Hook, message: dict[str, Any]) -> dict[str, Any]:
    config = {
        "endpoint": f"{live_server.url}{hook.path}",
        "authorization": f"Bearer {secret_of(hook)}",
    }
    response: dict[str, Any] = json.loads(run("logto.mjs", json.dumps(config), json.dumps(message)))
    return response


def test_logto_connector_sends_and_understands_a_refusal(
    live_server: LiveServer, company: Company, api: Api
) -> None:
    hook = make_hook(company, "logto")
    message = {"to": PHONE, "type": "SignIn", "payload": {"code": "561166"}, "ip": "203.0.113.7"}

    sent = logto(live_server, hook, message)
    refused = logto(live_server, hook, message | {"to": "+7"})

    assert sent["status"] == 200
    assert received(api) == "561166"
    assert json.loads(refused["data"]["message"])["code"] == "invalid_phone"
