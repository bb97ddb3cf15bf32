"""Finds the code in a sentence that a server has made around it."""

import re

from identity_hooks.hook_call import CallRefusedError, unreadable

# The last line of an SMS that browsers read: `@example.com #123456`
# (https://wicg.github.io/sms-one-time-codes/).
_WEB_OTP = re.compile(r"^@[\w.-]+ #([0-9A-Za-z]{4,10})(?:\s|$)", re.MULTILINE)
_DIGITS = re.compile(r"(?<![0-9A-Za-z+.,:/-])[0-9]+(?![0-9A-Za-z]|[.,:/-][0-9])")


def code_in(text: str, length: int) -> str:
    """The only number of `length` digits; raises CallRefusedError for none or for two."""
    if marked := _WEB_OTP.findall(text):
        return str(marked[-1])
    sentence = " ".join(word for word in text.split() if not _is_address(word))
    candidates: set[str] = {digits for digits in _DIGITS.findall(sentence) if len(digits) == length}
    if len(candidates) > 1:
        raise ambiguous()
    if not candidates:
        raise unreadable("no_code_in_text")
    return candidates.pop()


def _is_address(word: str) -> bool:
    """`https://example.com/?id=123456` or `example.com/123456`, whose digits are a link's."""
    host, slash, _path = word.partition("/")
    return bool(slash) and ("://" in word or "." in host)


def ambiguous() -> CallRefusedError:
    return unreadable("two_codes_in_text")
