"""The code is found in a text that an identity server has written."""

import pytest

from identity_hooks.hook_call import CallRefusedError, code_in


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("Your SMS code is 561166 and is valid for 5 minutes.", "561166"),
        ("561166 is your code", "561166"),
        ("Ihr Code lautet: 561166", "561166"),
        ("Код 561166, никому его не сообщайте", "561166"),
        ("Code (561166)", "561166"),
        ("Ваш код:561166", "561166"),
        ("Code:561166. Sent 12:561177", "561166"),
        ("561166: enter it twice, 561166", "561166"),
        ("Your code is 561166.", "561166"),
        ("Code 561166 for order 1234567 of 2026-11-29", "561166"),
        ("Code 561166, call +491761234567", "561166"),
        ("Your login code is: 561166\n\n@example.com #561166\n", "561166"),
        ("Order 123456, your code is 561166\n\n@example.com #561166", "561166"),
        ("561166 is your code, https://example.com/?id=123456", "561166"),
        ("Your code is 561166 (example.com/login#123456)", "561166"),
        ("Your code is 561-166", "561166"),
        ("561 166 is your code, valid for 10 minutes", "561166"),
        ("Votre code : 56 11\u00a066", "561166"),
        ("Ваш код: 561\u2013166.", "561166"),
        ("رمزك هو ٥٦١١٦٦", "561166"),
        ("आपका कोड ५६१ १६६ है", "561166"),
        ("认证码５６１１６６。", "561166"),
        ("Code 561 166, call +49 176 123 456", "561166"),
        ("Code 561 166 for order 123 456 789 of 29-11-26, call (916) 770 012", "561166"),
    ],
)
def test_only_number_of_the_length_is_the_code(text: str, code: str) -> None:
    assert code_in(text, 6) == code


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("Your code is 561166, your account is 770012", "two_codes_in_text"),
        ("Your code is 5611", "no_code_in_text"),
        ("Your code is 5611667", "no_code_in_text"),
        ("Your code is 561 166, your account is 770012", "two_codes_in_text"),
        ("Valid until 29-11-26, call +49 176 123 456", "no_code_in_text"),
        ("Call 8 916 561 166 or 8-916-561-166", "no_code_in_text"),
        ("Your code is 561-16-6", "no_code_in_text"),
        ("Your code is A561166", "no_code_in_text"),
        ("Open https://example.com/?code=561166", "no_code_in_text"),
        ("Open example.com/login?code=561166", "no_code_in_text"),
        ("", "no_code_in_text"),
        ("No digits at all", "no_code_in_text"),
    ],
)
def test_text_without_one_code_is_refused(text: str, reason: str) -> None:
    with pytest.raises(CallRefusedError) as refused:
        code_in(text, 6)

    assert refused.value.reason == reason


def test_length_comes_from_the_hook() -> None:
    assert code_in("Code 5611, order 561166", 4) == "5611"
