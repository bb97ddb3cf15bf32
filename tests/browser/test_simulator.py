"""The simulator's page: people, messages, bots and faults."""

from collections.abc import Iterator
from itertools import count
from typing import Any, Literal

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.browser.page_audit import AXE, RULES, RUN_AXE
from tests.tools.simulator.peers import Hook, Receiver, Simulator, get
from tests.tools.simulator.sends import WHATSAPP, send_bot, send_twilio, send_whatsapp, template

NUMBERS = count(77020000001)
BOT_HOOK = "/hooks/telegram-bot"
NARROW = 360


@pytest.fixture(scope="module")
def receiver() -> Iterator[Receiver]:
    receiver = Receiver()
    yield receiver
    receiver.close()


@pytest.fixture(scope="module")
def simulator(receiver: Receiver, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Simulator]:
    log = tmp_path_factory.mktemp("simulator") / "log.sqlite3"
    simulator = Simulator(log, receiver.url)
    yield simulator
    simulator.close()


@pytest.fixture
def phone() -> str:
    """A phone that no other test writes to."""
    return str(next(NUMBERS))


def opened(page: Page, simulator: Simulator, query: str = "") -> Page:
    page.goto(f"{simulator.url}/{query}")
    return page


def violations(page: Page) -> list[str]:
    """The violations that axe finds; evaluated from outside, since the page's policy lets no script
    in.
    """
    page.evaluate(AXE)
    result: list[str] = page.evaluate(RUN_AXE, [RULES, False])
    return result


def card(page: Page, phone: str) -> Locator:
    return page.locator(f'article[data-phone="{phone}"]')


def update_of(receiver: Receiver, phone: str, kind: str) -> dict[str, Any]:
    """Telegram's update about this person to the bot, as soon as there is one."""

    def fits(hook: Hook) -> bool:
        update_json = hook.json.get(kind) if hook.path == BOT_HOOK else None
        return update_json is not None and update_json["from"]["id"] == int(phone)

    update: dict[str, Any] = receiver.wait(fits)[-1].json[kind]
    return update


def test_message_appears_without_a_reload(page: Page, simulator: Simulator, phone: str) -> None:
    opened(page, simulator)
    page.evaluate("window.isTheSamePage = true")

    send_whatsapp(simulator, phone)

    message = card(page, phone).locator("li")
    expect(message).to_have_count(1)
    expect(message.locator(".code")).to_have_text("123456")
    expect(message.locator(".meta")).to_contain_text("доставлено")
    assert page.evaluate("window.isTheSamePage")


def test_contact_is_shared(
    page: Page, simulator: Simulator, receiver: Receiver, phone: str
) -> None:
    send_bot(simulator, phone)
    simulator.do(phone, "unshare")
    opened(page, simulator)
    expect(card(page, phone)).to_contain_text("контакта нет")

    card(page, phone).get_by_role("button", name="Передать контакт").click()

    expect(card(page, phone)).to_contain_text("контакт передан")
    update_json = update_of(receiver, phone, "message")
    assert (update_json["contact"]["phone_number"], update_json["contact"]["user_id"]) == (
        phone,
        int(phone),
    )
    assert update_json["chat"] == {"id": int(phone), "first_name": "Абонент", "type": "private"}
    assert send_bot(simulator, phone).status_code == 200


def test_unshared_contact_sends_no_update(
    page: Page, simulator: Simulator, receiver: Receiver, phone: str
) -> None:
    send_bot(simulator, phone)
    opened(page, simulator)

    card(page, phone).get_by_role("button", name="Убрать контакт").click()

    expect(card(page, phone)).to_contain_text("контакта нет")
    expect(card(page, phone).get_by_role("button", name="Убрать контакт")).to_have_count(0)
    assert send_bot(simulator, phone).status_code == 403
    simulator.do(phone, "share")
    update_of(receiver, phone, "message")
    mine = receiver.having(lambda hook: hook.path == BOT_HOOK and phone.encode() in hook.body)
    assert len(mine) == 1


def test_bot_is_blocked_and_unblocked(
    page: Page, simulator: Simulator, receiver: Receiver, phone: str
) -> None:
    send_bot(simulator, phone)
    opened(page, simulator)

    card(page, phone).get_by_role("button", name="Заблокировать", exact=True).click()

    expect(card(page, phone)).to_contain_text("заблокирован")
    assert update_of(receiver, phone, "my_chat_member")["new_chat_member"]["status"] == "kicked"
    assert send_bot(simulator, phone).status_code == 403

    card(page, phone).get_by_role("button", name="Разблокировать").click()

    expect(card(page, phone)).to_contain_text("контакт есть")
    receiver.wait(lambda hook: hook.path == BOT_HOOK and phone.encode() in hook.body, count=2)
    assert update_of(receiver, phone, "my_chat_member")["new_chat_member"]["status"] == "member"
    assert send_bot(simulator, phone).status_code == 200


def test_fault_is_set_by_the_form_and_cleared(page: Page, simulator: Simulator, phone: str) -> None:
    opened(page, simulator)
    form = page.locator("#fault")

    form.get_by_label("Что случится").select_option("throttle")
    form.locator("[name=channel]").select_option("whatsapp")
    form.get_by_label("Телефон").fill(f"+{phone}")
    form.get_by_label("Сколько раз").fill("3")
    form.get_by_role("button", name="Включить сбой").click()

    listed = page.locator("#faults li")
    expect(listed).to_contain_text(f"слишком часто · WhatsApp · +{phone} · осталось раз: 3")
    expect(form.get_by_label("Телефон")).to_have_value("")
    assert send_whatsapp(simulator, phone).json()["error"]["code"] == 130429
    assert send_twilio(simulator, phone).status_code == 201
    expect(listed).to_contain_text("осталось раз: 2")

    listed.get_by_role("button", name="Снять").click()

    expect(page.locator("#faults")).to_have_text("Сбоев нет: всё доставляется.")
    assert send_whatsapp(simulator, phone).status_code == 200


def test_all_faults_are_cleared_at_once(page: Page, simulator: Simulator, phone: str) -> None:
    for kind in ("refuse", "no_receipt"):
        simulator.set_fault(kind=kind, phone=phone)
    opened(page, simulator)
    expect(page.locator("#faults li")).to_have_count(2)

    page.get_by_role("button", name="Снять все").click()

    expect(page.locator("#faults li")).to_have_count(0)
    assert get(f"{simulator.url}/faults").json() == []


def test_read_button_sends_a_read_receipt(
    page: Page, simulator: Simulator, receiver: Receiver, phone: str
) -> None:
    opened(page, simulator)
    send_whatsapp(simulator, phone)
    expect(card(page, phone).locator(".meta")).to_contain_text("доставлено")

    card(page, phone).get_by_role("button", name="Прочитать").click()

    expect(card(page, phone).locator(".meta")).to_contain_text("прочитано")
    expect(card(page, phone).get_by_role("button", name="Прочитать")).to_have_count(0)
    assert WHATSAPP.words(receiver, phone, 3) == ["sent", "delivered", "read"]


@pytest.fixture
def plain(browser: Browser, simulator: Simulator) -> Iterator[Page]:
    """A narrow phone whose browser runs no script."""
    context = browser.new_context(
        java_script_enabled=False,
        base_url=simulator.url,
        locale="ru-RU",
        viewport={"width": NARROW, "height": 740},
    )
    yield context.new_page()
    context.close()


def test_control_page_needs_no_script(plain: Page, simulator: Simulator, phone: str) -> None:
    plain.goto("/")
    plain.get_by_role("link", name="Пульт").click()
    plain.get_by_label("Что случится").select_option("unreachable")
    plain.locator("#set-fault [name=provider]").select_option("twilio")
    plain.get_by_label("Телефон", exact=True).fill(f"+{phone}")
    plain.get_by_role("button", name="Включить сбой").click()
    listed = plain.locator("#faults li")
    expect(listed).to_contain_text(f"абонента нет в канале · SMS · Twilio · +{phone}")

    assert send_twilio(simulator, phone).status_code == 400
    plain.get_by_role("link", name="Обновить").click()
    newest = plain.locator(".exchange").first
    expect(newest.locator("summary")).to_contain_text(f"SMS · Twilio запрос +{phone} 400")
    newest.locator("summary").click()
    expect(newest.locator("pre").last).to_contain_text("is not a mobile number")

    listed.get_by_role("button", name="Снять").click()
    expect(plain.locator("#faults")).to_have_text("Сбоев нет: всё доставляется.")


def test_exchange_appears_by_itself_and_an_open_one_stays_open(
    page: Page, simulator: Simulator, phone: str
) -> None:
    send_whatsapp(simulator, phone)
    opened(page, simulator, f"control?phone={phone}")
    expect(page.locator(".exchange")).to_have_count(3)
    page.locator(".exchange").last.locator("summary").click()

    send_bot(simulator, phone)

    expect(page.locator(".exchange")).to_have_count(4)
    expect(page.locator(".exchange[open]")).to_have_count(1)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("language", ["ru", "en"])
def test_control_page_is_legible_and_fits_a_narrow_phone(
    page: Page, simulator: Simulator, phone: str, language: str, scheme: Literal["light", "dark"]
) -> None:
    send_bot(simulator, phone, text=f"https://kv.example/{'x' * 200} {'ы' * 200}")
    simulator.set_fault(kind="late_receipt", phone=phone, provider="smsc", latency_ms=5, times=9)
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": NARROW, "height": 740})
    opened(page, simulator, f"control?lang={language}")
    page.locator(".exchange").first.locator("summary").click()

    assert page.evaluate("document.documentElement.scrollWidth") <= NARROW
    assert violations(page) == []


@pytest.mark.parametrize("language", ["ru", "en"])
def test_nothing_overflows_on_a_narrow_phone(
    page: Page, simulator: Simulator, phone: str, language: str
) -> None:
    send_bot(simulator, phone, text=f"https://kv.example/{'x' * 200} {'ы' * 200}")
    send_whatsapp(simulator, phone, template=template("short_link", ["Ваш полис " * 20], "aB3"))
    send_whatsapp(simulator, phone)
    simulator.set_fault(kind="late_receipt", phone=phone, channel="sms", latency_ms=500, times=9)
    page.set_viewport_size({"width": NARROW, "height": 740})
    opened(page, simulator, f"?lang={language}")
    expect(card(page, phone).locator("li")).to_have_count(3)

    wide = page.evaluate(
        """width => [...document.querySelectorAll("body *")]
            .filter((one) => one.getBoundingClientRect().right > width)
            .map((one) => one.outerHTML.slice(0, 80))""",
        NARROW,
    )

    assert wide == []
    assert page.evaluate("document.documentElement.scrollWidth") <= NARROW
