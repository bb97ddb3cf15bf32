"""The channels that the simulated vendors carry, each declared once."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Channel:
    title: str
    previewer: str = ""  # the User-Agent that fetches a link's preview; empty: nobody does


CHANNELS = {
    "whatsapp": Channel("WhatsApp", "WhatsApp/2.23.20.0 A"),
    "telegram": Channel("Telegram", "TelegramBot (like TwitterBot)"),
    "sms": Channel(
        "SMS",
        # An iPhone's: made by the phone itself, in the names of others.
        "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_11_1) AppleWebKit/601.2.4 (KHTML, like Gecko)"
        " Version/9.0.1 Safari/601.2.4 facebookexternalhit/1.1 Facebot Twitterbot/1.0",
    ),
    "max": Channel("MAX"),  # whose previewer publishes no name
}
