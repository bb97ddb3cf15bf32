"""What a person reads, worded for the pages by what words the messages."""

from accounts.keys.company_texts import NO_TEXTS, CompanyTexts
from config.channels import BY_NAME
from links.make.new_link import short_url
from otp.texts import rendering
from otp.web.calls import DEFAULT_PURPOSE

CODE = "482915"
BRANDS = {"ru": "Магазин", "en": "Shop"}
OWN_TEXT = {
    "ru": "{brand}: код для входа {code}.\nДействует {minutes} мин. Никому его не говорите.\n"
    "Войти сразу: {link}",
    "en": "{brand}: {code} is your code to sign in.\nIt lives {minutes} minutes. Tell nobody.\n"
    "Sign in at once: {link}",
}
AUTOFILL = CompanyTexts({}, "shop.example", "FA+9qCX9VSu")


def standard(language: str) -> str:
    """A code in our own words."""
    return _worded(language, NO_TEXTS, body=None, link=None)


def own(language: str) -> str:
    """An SMS in a company's words, with a link and every line of autofill."""
    return _worded(language, AUTOFILL, body=OWN_TEXT[language], link=short_url("x7Kq2MbdR9"))


def _worded(language: str, texts: CompanyTexts, *, body: str | None, link: str | None) -> str:
    template = rendering.template(
        texts,
        channel=BY_NAME["sms"],
        locale=language,
        purpose=DEFAULT_PURPOSE,
        has_link=link is not None,
        body=body,
    )
    return rendering.fill(template, code=CODE, brand=BRANDS[language], minutes=None, link=link)
