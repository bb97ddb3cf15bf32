"""Tags of BCP 47, and the nearest of our languages to one."""

import pytest

from catalogue.languages import matching, message_languages, page_languages, tags

OURS = message_languages.codes()
# RFC 5646, appendix A, and its grandfathered tags.
OF_THE_STANDARD = [
    *("de", "fr", "ja", "i-enochian", "zh-Hant", "zh-Hans", "sr-Cyrl", "sr-Latn"),
    *("zh-cmn-Hans-CN", "cmn-Hans-CN", "zh-yue-HK", "yue-HK", "zh-Hans-CN", "sr-Latn-RS"),
    *("sl-rozaj", "sl-rozaj-biske", "sl-nedis", "de-CH-1901", "sl-IT-nedis"),
    *("hy-Latn-IT-arevela", "de-DE", "en-US", "es-419", "de-CH-x-phonebk"),
    *("az-Arab-x-aze-derbend", "x-whatever", "qaa-Qaaa-QM-x-southern", "de-Qaaa", "sr-Latn-QM"),
    *("sr-Qaaa-RS", "en-US-u-islamcal", "zh-CN-a-myext-x-private", "en-a-myext-b-another"),
    *("en-a-bbb-x-a-ccc", "en-GB-oed", "sgn-BE-FR", "art-lojban", "zh-min-nan", "de-1996"),
]


@pytest.mark.parametrize("tag", OF_THE_STANDARD)
def test_tags_of_the_standard_are_read(tag: str) -> None:
    assert tags.canonical(tag).lower() == tag.lower()


@pytest.mark.parametrize(
    "text",
    # The invalid ones of appendix A first.
    [
        "de-419-DE",
        "a-DE",
        "ar-a-aaa-b-bbb-a-ccc",
        "de-1901-1901",
        "x",
        "x-",
        "en-x",
        "en-a",
        "",
        "-",
        "_",
        "de-",
        "-de",
        "en--US",
        "de DE",
        " de",
        "de\n",
        "d",
        "12",
        "i-none",
        "abcdefghi",
        "дe",
        "de-ﬃ",
        "en-" + "x" * 9,
        "en-x" + "-aaaaaaaa" * 4,
        "*",
        "de;q=1",
        "en-US.UTF-8",
        "de-DE-",
        "x-private-",
        "en-abcd-efgh",
        "en-US-GB",
    ],
)
def test_malformed_language_tag_is_refused(text: str) -> None:
    assert tags.canonical(text) == ""


@pytest.mark.parametrize(
    ("text", "tag"),
    [
        ("PT_br", "pt-BR"),
        ("zh_hant_tw", "zh-Hant-TW"),
        ("EN-ca-X-CA", "en-CA-x-ca"),
        ("KK", "kk"),
        ("sgn-be-fr", "sgn-BE-FR"),
        ("AZ-LATN-x-LATN", "az-Latn-x-latn"),
        ("es-419", "es-419"),
    ],
)
def test_letter_case_is_that_of_the_standard(text: str, tag: str) -> None:
    assert tags.canonical(text) == tag


@pytest.mark.parametrize("code", sorted(OURS))
def test_supported_language_matches_itself(code: str) -> None:
    assert message_languages.match(code) == message_languages.match(code.lower(), "ru") == code


@pytest.mark.parametrize(
    ("tag", "language"),
    # Parents, also where they are no prefix.
    [
        ("de-AT", "de"),
        ("de-DE-1996", "de"),
        ("fr-CA", "fr"),
        ("es-419", "es"),
        ("es-MX", "es"),
        ("pt", "pt"),
        ("pt-BR", "pt"),
        ("pt_br", "pt"),
        ("pt-PT", "pt-PT"),
        ("pt-AO", "pt-PT"),
        ("uz-Cyrl-UZ", "uz-Cyrl"),
        ("uz-Latn-UZ", "uz"),
        ("kk-KZ", "kk"),
        ("be-BY", "be"),
        ("uk-UA", "uk"),
        ("ru-UA", "ru"),
        ("ar-EG", "ar"),
        ("en-GB-oed", "en"),
        ("en-AU", "en"),
        # Replaced codes, extensions, dialects.
        ("kaz", "kk"),
        ("deu", "de"),
        ("ar-u-nu-latn", "ar"),
        ("arz", "ar"),
        ("ar-arz", "ar"),
        # People who speak these likely read those.
        ("ca", "es"),
        ("gl-ES", "es"),
        ("lb", "de"),
        ("gsw-CH", "de"),
        ("ht", "fr"),
        ("tt", "ru"),
        ("tg", "ru"),
        ("hy-AM", "ru"),
        ("ka", "en"),
        ("sw-KE", "en"),
        ("ku", "tr"),
        # The language itself in another script, where no other is nearer.
        ("kk-Latn", "kk"),
        ("kk-CN", "kk"),
        ("uz-AF", "uz"),
        ("be-Latn", "be"),
    ],
)
def test_language_falls_back_to_the_nearest_of_cldr(tag: str, language: str) -> None:
    assert message_languages.match(tag, "fr") == language


@pytest.mark.parametrize(
    "tag",
    ["ja", "zh-Hant-TW", "sr-Latn", "nb-NO", "x-private", "i-klingon", "und", "mul", "qaa", "zxx"],
)
def test_unmatched_tag_falls_back_to_company_then_worldwide(tag: str) -> None:
    assert message_languages.match(tag, "kk") == "kk"
    assert message_languages.match(tag) == page_languages.worldwide()
    assert not message_languages.has_match(tag)


@pytest.mark.parametrize("tag", ["be", "kk", "uk", "uz", "ky", "az", "tr"])
def test_other_languages_are_not_matched_to_russian(tag: str) -> None:
    assert message_languages.match(tag, "ru") != "ru"


def test_languages_of_an_account_have_the_same_fallback() -> None:
    account = frozenset({"ru", "en", "pt-PT", "zh-Hant"})

    assert matching.match("zh-TW", account) == "zh-Hant"
    assert matching.match("kk", account) == "ru"  # CLDR says so
    assert matching.match("pt-BR", account) == "pt-PT"
    assert matching.match("ja", account) == ""


@pytest.mark.parametrize(
    ("tag", "language"), [("kk", "ru"), ("pt-PT", "en"), ("de", "en"), ("ru", "ru"), ("uk", "en")]
)
def test_page_language_is_nearest_to_message_language(tag: str, language: str) -> None:
    assert page_languages.nearest(tag) == language


def test_languages_are_titled_in_words() -> None:
    assert page_languages.title("pt-BR") == "португальский (Бразилия)"
    assert page_languages.title("x-private") == "x-private"
    assert message_languages.native_name("kk") == "Қазақша"
