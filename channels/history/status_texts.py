"""The status sentence of an answer to a send: what was done, by which channel."""

from channels.models import Message

CHANNEL_PHRASES = {
    "ru": {"whatsapp": "в WhatsApp", "telegram": "в Telegram", "sms": "по SMS"},
    "en": {"whatsapp": "by WhatsApp", "telegram": "by Telegram", "sms": "by SMS"},
}
SENT_TEXTS = {
    ("code", "ru"): "Код отправлен {by}",
    ("code", "en"): "The code was sent {by}",
    ("link", "ru"): "Ссылка отправлена {by}",
    ("link", "en"): "The link was sent {by}",
}
QUEUED_TEXTS = {
    ("code", "ru"): "Код поставлен в очередь: {channel}",
    ("code", "en"): "The code is queued: {channel}",
    ("link", "ru"): "Ссылка поставлена в очередь: {channel}",
    ("link", "en"): "The link is queued: {channel}",
}


def status_text(kind: str, channel: str, state: str, language: str) -> str:
    """«Код отправлен в WhatsApp» once the vendor has accepted it, before that «Код поставлен в
    очередь: WhatsApp».
    """
    if state == Message.State.QUEUED:
        name = Message.ChannelName(channel).label
        return QUEUED_TEXTS[kind, language].format(channel=name)
    return SENT_TEXTS[kind, language].format(by=CHANNEL_PHRASES[language][channel])
