"""STOP and START by every channel, only as the whole text of a message."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from functools import partial
from itertools import permutations
from uuid import uuid4

import orjson
import pytest
from django.core.cache import cache
from django.db import OperationalError, connection
from django.utils import timezone

from accounts import purges
from catalogue.languages import message_languages, page_languages
from channels.models import BlockedPhone, KnownRecipient, Message, ProviderAlert
from channels.outcomes import inbound_receipts
from channels.phone_numbers import e164_or_none, spellings
from channels.providers.inbound import (
    InboundEvents,
    Receipt,
    ReceiptState,
    Recipient,
    Reply,
)
from channels.recipients import blocked_phones, vendor_user_ids
from parsing import clipboard
from tests.api.clients import Api
from tests.channels.message_stages import claimed
from tests.channels.providers.vendors import (
    call_webhook,
    meta_call,
    payload,
    twilio,
    twilio_call,
    whatsapp,
)
from tests.factories import AttemptFactory, MessageFactory

pytestmark = pytest.mark.django_db

PHONE = "+79161234567"


def store_due_receipt(text: str, phone: str = PHONE) -> None:
    blocked_phones.apply_reply("twilio", Reply(phone, text))


def report_recipients(provider: str, *recipients: Recipient) -> None:
    """A receipt that says who received messages."""
    receipt = Receipt(f"vendor-{uuid4()}", None, ReceiptState.DELIVERED, "delivered")
    inbound_receipts.store(
        provider, [InboundEvents(b"", receipts=[receipt], recipients=recipients)]
    )


def is_blocked(phone: str = PHONE) -> bool:
    return BlockedPhone.objects.filter(phone=phone).exists()


@pytest.mark.parametrize(
    "text",
    [
        "STOP",
        " stop.\n",
        "«СТОП»",
        "UNSUBSCRIBE",
        "StopAll",
        "stop\0",
        "ＳＴＯＰ",
        "s\u200bt\u00adop",
        "\u202astop\u202c",
        "STOP \u2764\ufe0f",
        "сто\u0301п",
        "S.T.O.P.",
        "Opt-Out",
        "opt\u2011out",
        "Stop  ALL!",
        "stop\u00a0all",
        "Please stop!",
        "unsubscribe me",
        "Отписаться от рассылки",
        "\u3164STOP",
        "отпишите меня",
        "Больше не пишите.",
        "не присылайте больше…",
    ],
)
def test_stop_words_block_the_phone(text: str) -> None:
    store_due_receipt(text)

    assert BlockedPhone.objects.get().said_stop
    assert BlockedPhone.objects.get().reason == "STOP, Twilio"


@pytest.mark.parametrize("text", ["stop it, please?", "не стоп", "START", "nonstop", "stop" * 99])
def test_other_replies_block_nothing(text: str) -> None:
    store_due_receipt(text)

    assert not is_blocked()


def test_word_that_means_enough_in_russian_lifts_no_stop() -> None:
    """In Kazakh it means "start"."""
    for word in ("STOP", "Баста!"):
        store_due_receipt(word)

    assert is_blocked()


def test_stop_blocks_sends_until_start(api: Api) -> None:
    store_due_receipt("STOP")
    store_due_receipt("STOP")
    refused = [
        api.post("/otp/send", {"phone": PHONE, "channel": channel})
        for channel in ("whatsapp", "sms")
    ]
    store_due_receipt("Старт")
    store_due_receipt("START")

    assert [response.code for response in refused] == ["recipient_unreachable"] * 2
    assert api.post("/otp/send", {"phone": PHONE}).status == 200


def test_block_by_the_operator_notes_the_persons_stop() -> None:
    """The operator would otherwise lift the block without learning of it."""
    BlockedPhone.objects.create(phone=PHONE, reason="fraud")

    for _repeat in range(2):
        store_due_receipt("STOP")

    row = BlockedPhone.objects.get()
    assert (row.reason, row.said_stop) == ("STOP, Twilio; fraud", False)


def test_start_keeps_a_block_by_the_operator() -> None:
    BlockedPhone.objects.create(phone=PHONE, reason="a complaint")

    store_due_receipt("STOP")
    store_due_receipt("START")

    assert is_blocked()


@pytest.mark.parametrize("language", page_languages.translated())
def test_every_language_has_words_that_can_be_typed(language: str) -> None:
    texts = message_languages.texts(language)
    text = {*texts["stop"], *texts["start"]}

    assert {clipboard.words(word.upper()) for word in text} == text
    assert not set(texts["stop"]) & set(texts["start"])


@pytest.mark.parametrize("text", ["Старт!", "un\u200bstop", "ＳＴＡＲＴ", "opt-in", "подписаться"])
def test_start_words_unblock_the_phone(text: str) -> None:
    store_due_receipt("STOP")

    store_due_receipt(text)

    assert not is_blocked()


@pytest.mark.parametrize(
    ("reported", "sent_to"),
    [
        ("+5215512345678", "+525512345678"),
        ("+551187654321", "+5511987654321"),
        ("+541123456789", "+5491123456789"),
        ("5491123456789", "+5491123456789"),
        ("+22997123456", "+2290197123456"),
    ],
)
def test_stop_blocks_the_number_that_we_send_to(reported: str, sent_to: str) -> None:
    store_due_receipt("STOP", reported)

    assert list(BlockedPhone.objects.values_list("phone", flat=True)) == [sent_to]
    for spelling in spellings(sent_to):
        assert e164_or_none(spelling, "RU") == sent_to


@pytest.mark.parametrize("sender", ["1" * 40, "0", "+1", "16315551234x", "+1631555123４"])
def test_stop_of_a_sender_that_is_not_a_phone_alerts_the_operator(sender: str) -> None:
    body = payload("whatsapp_cloud", "message_stop_2026-11.json").decode()
    call = meta_call(body.replace("16315551234", sender).encode())

    replies = whatsapp().parse_webhook(call).replies
    for reply in replies:
        blocked_phones.apply_reply("whatsapp_cloud", reply)

    assert [reply.phone for reply in replies] == ["", "+16315551235"]
    assert not is_blocked("+16315551234")
    assert [
        (provider_alert.code, provider_alert.detail)
        for provider_alert in ProviderAlert.objects.all()
    ] == [("stop_unmatched", sender)]


def test_sms_stop_of_non_phone_sender_alerts_operator() -> None:
    form = payload("twilio", "message_stop_2026-11.form").replace(
        b"From=%2B14155552345", b"From=32665"
    )

    (reply,) = twilio().parse_webhook(twilio_call(form)).replies
    blocked_phones.apply_reply("twilio", reply)
    store_due_receipt("thanks", "")

    assert [provider_alert.detail for provider_alert in ProviderAlert.objects.all()] == ["32665"]


def test_stop_by_vendor_number_blocks_our_recipient(api: Api) -> None:
    message = claimed(api, channel="whatsapp")

    for named in ("79161234567", "89161234567", "15550001111"):
        vendor_user_ids.enqueue("whatsapp_cloud", message.phone, named, str(message.attempt_id))
    vendor_user_ids.record_queued()
    blocked_phones.apply_reply("whatsapp_cloud", Reply("+15550001111", "STOP"))

    assert KnownRecipient.objects.filter(user_id="15550001111").exists()
    assert not KnownRecipient.objects.filter(user_id="79161234567").exists()
    assert is_blocked(message.phone)
    assert is_blocked("+15550001111")


def test_number_that_the_vendor_named_waits_for_the_database(api: Api) -> None:
    message = claimed(api, channel="whatsapp")

    def away(*_args: object) -> None:
        raise OperationalError("the connection is closed")

    vendor_user_ids.enqueue("whatsapp_cloud", message.phone, "15550001111", str(message.attempt_id))
    with connection.execute_wrapper(away), pytest.raises(OperationalError):
        vendor_user_ids.record_queued()
    assert not KnownRecipient.objects.exists()
    vendor_user_ids.record_queued()

    assert KnownRecipient.objects.get().user_id == "15550001111"


@pytest.mark.parametrize(
    ("file", "reply_text"),
    [("message_stop_2026-11.form", " Stop "), ("message_opt_out_2026-11.form", "STOP")],
)
def test_replies_by_twilio_are_parsed(file: str, reply_text: str) -> None:
    call = twilio_call(payload("twilio", file))

    assert twilio().parse_webhook(call).replies == [Reply("+14155552345", reply_text)]
    assert twilio().parse_webhook(call).receipts == []


def test_signed_replies_of_both_vendors_are_applied() -> None:
    sms = payload("twilio", "message_stop_2026-11.form")

    assert call_webhook("twilio", sms, "another secret") == 403
    assert not is_blocked("+14155552345")
    assert tell_meta("message_stop_2026-11.json") == 200
    assert call_webhook("twilio", sms) == 200
    blocked = set(BlockedPhone.objects.values_list("phone", flat=True))
    assert blocked == {"+16315551234", "+16315551235", "+14155552345"}


@pytest.mark.parametrize("text", [["STOP", "START"], ["STOP", "START", "STOP"]])
def test_latest_stop_or_start_counts_in_any_order(text: list[str]) -> None:
    """Meta repeats for days a call that failed, alongside newer ones."""
    calls = [word_at(word, 1_700_000_000 + number) for number, word in enumerate(text)]
    blocked = {}
    for order in permutations(range(len(calls))):
        BlockedPhone.objects.all().delete()
        cache.clear()
        for number in [*order, order[0]]:  # one of them twice
            assert call_webhook("whatsapp_cloud", calls[number]) == 200
        blocked[order] = is_blocked("+14155552345")

    assert blocked == dict.fromkeys(blocked, text[-1] == "STOP")


def test_concurrent_words_keep_the_last(transactional_db: None) -> None:
    calls = [word_at(word, 1_700_000_000 + number) for number, word in enumerate(["STOP", "START"])]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(partial(in_a_thread, "whatsapp_cloud"), calls * 8))

    assert not is_blocked("+14155552345")


def in_a_thread(vendor: str, body: bytes) -> None:
    call_webhook(vendor, body)
    connection.close()


def word_at(word: str, at: int) -> bytes:
    said = {"from": "14155552345", "timestamp": str(at), "type": "text", "text": {"body": word}}
    change = {"field": "messages", "value": {"messages": [said]}}
    return orjson.dumps({"entry": [{"changes": [change]}]})


def tell_meta(file: str, ref: str = "att-1") -> int:
    body = payload("whatsapp_cloud", file).replace(b"att-1", ref.encode())
    return call_webhook("whatsapp_cloud", body)


USER_ID = "US.13491208655302741918"


@pytest.mark.parametrize(
    "receipt", ["status_delivered_to_user_id_2026-11.json", "status_without_phone_2026-11.json"]
)
def test_stop_by_user_id_blocks_the_phone_we_sent_to(api: Api, receipt: str) -> None:
    message = claimed(api, channel="whatsapp")
    assert tell_meta(receipt, str(message.attempt_id)) == 200

    assert tell_meta("message_stop_without_phone_2026-11.json") == 200

    assert list(BlockedPhone.objects.values_list("phone", "said_stop")) == [(message.phone, True)]
    assert not ProviderAlert.objects.exists()


def test_start_by_user_id_unblocks_the_phone(api: Api) -> None:
    message = claimed(api, channel="whatsapp")
    report_recipients("whatsapp_cloud", Recipient(USER_ID, str(message.attempt_id)))

    blocked_phones.apply_reply("whatsapp_cloud", Reply("", "STOP", USER_ID))
    blocked_phones.apply_reply("whatsapp_cloud", Reply("", "START", USER_ID))

    assert not BlockedPhone.objects.exists()


def test_phone_with_two_whatsapp_spellings_is_blocked_in_both(api: Api) -> None:
    message = claimed(api, channel="whatsapp")
    report_recipients("whatsapp_cloud:kz", Recipient(USER_ID, str(message.attempt_id)))

    blocked_phones.apply_reply("whatsapp_cloud", Reply("+5511912345678", "STOP", USER_ID))

    assert is_blocked("+5511912345678")
    assert is_blocked(message.phone)


def test_stop_of_an_unknown_user_id_alerts_the_operator() -> None:
    assert tell_meta("message_stop_without_phone_2026-11.json") == 200

    assert not BlockedPhone.objects.exists()
    assert [
        (provider_alert.code, provider_alert.kind) for provider_alert in ProviderAlert.objects.all()
    ] == [("stop_unmatched", "warning")]


def test_anonymised_phone_is_not_blocked_by_its_prefix(api: Api) -> None:
    message = claimed(api, channel="whatsapp")
    report_recipients("whatsapp_cloud", Recipient(USER_ID, str(message.attempt_id)))
    Message.objects.update(phone="+7916*")

    blocked_phones.apply_reply("whatsapp_cloud", Reply("", "STOP", USER_ID))

    assert not BlockedPhone.objects.exists()


def test_person_is_known_by_the_latest_message_of_another_day(api: Api) -> None:
    first, second = (AttemptFactory.create().pk for _ in range(2))

    report_recipients("whatsapp_cloud", Recipient(USER_ID, str(first)), Recipient("US.2", "junk"))
    report_recipients("whatsapp_cloud", Recipient(USER_ID, str(second)))
    known = KnownRecipient.objects.get()
    assert known.attempt_id == first
    KnownRecipient.objects.update(seen_at=timezone.now() - timedelta(days=2))
    report_recipients("whatsapp_cloud", Recipient(USER_ID, str(second)))

    assert KnownRecipient.objects.get().attempt_id == second


def test_user_ids_are_purged_with_their_phones() -> None:
    report_recipients("whatsapp_cloud", Recipient(USER_ID, str(AttemptFactory.create().pk)))
    assert KnownRecipient.objects.exists()
    KnownRecipient.objects.update(seen_at=timezone.now() - timedelta(days=91))

    purges.purge()

    assert not KnownRecipient.objects.exists()


@pytest.mark.parametrize(
    ("sent_to", "blocked"),
    [("+84912345678", "+84912345678"), ("+74912345678", "+74912345678"), ("", "+74912345678")],
)
def test_stop_without_a_plus_is_of_the_phone_that_got_a_message(sent_to: str, blocked: str) -> None:
    if sent_to:
        MessageFactory.create(phone=sent_to)
    MessageFactory.create(phone="+74912345678", mode="test")

    blocked_phones.apply_reply("smpp", Reply("84912345678", "STOP"))

    assert list(BlockedPhone.objects.values_list("phone", flat=True)) == [blocked]
