"""What a sender is told of a message, by channel."""

BY = {
    "ru": {"whatsapp": "в WhatsApp", "telegram": "в Telegram", "sms": "по SMS"},
    "en": {"whatsapp": "by WhatsApp", "telegram": "by Telegram", "sms": "by SMS"},
}
SENT = {
    ("code", "ru"): "Код отправлен {by}",
    ("code", "en"): "The code was sent {by}",
    ("link", "ru"): "Ссылка отправлена {by}",
    ("link", "en"): "The link was sent {by}",
}


def sent_words(kind: str, channel: str, language: str) -> str:
    """«Код отправлен в WhatsApp», whether the vendor has taken it yet or will in a moment."""
    return SENT[kind, language].format(by=BY[language][channel])
