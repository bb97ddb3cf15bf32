"""Values that strangers, clipboards and programs put into a field."""

import orjson

# Ids of requests, whose times have nothing before and nothing after them.
FIRST_ID = "req_" + "0" * 22
LAST_ID = f"req_{253_402_300_799_000:012x}" + "0" * 10

TEXTS = [
    "",
    " ",
    "\0",
    "a\x1b[31m\x7f\x85b",
    "a\r\nX-Odd: 1\u2028b",
    "\u202egnp.exe\u2066",
    "\ufffe\U0010ffff",
    "\u200b\u2060\ufeff",
    "نامه\u200cای \U0001fac8 👩\u200d💻",
    "٣",
    "９９９",
    "²",
    "9" * 5000,
    str(2**31),
    str(2**63),
    "-1",
    "1_000",
    "1e999",
    "1.5",
    "NaN",
    "Infinity",
    "0001-01-01",
    "9999-12-31",
    "9999-12-31T23:59:59-14:00",
    "0001-01-01 00:00:00",
    "12:60:99",
    FIRST_ID,
    LAST_ID,
    "[" * 3000,
    "x" * 70_000,
    "%00%ff../..",
    "'\"><script>{{ 1 }}%s{0}\\",
    "http://[::1",
    "a@faß.de",
]
# The values that have failed most, for a quick run: in all fields at once, and in each one alone.
WORST = ["9" * 5000, "9999-12-31", "http://[::1", "a\0", LAST_ID, "0001-01-01", "\ufffea\x1fb²", ""]
ALONE = ["9999-12-31", str(2**63)]

_DEEP = b"[" * 5000 + b"]" * 5000
# Values in JSON, as they are written.
JSON = [
    *(orjson.dumps(text) for text in TEXTS),
    b'"\\ud800"',
    b'"\\u0000"',
    b"null",
    b"true",
    b"-1",
    b"1.5",
    b"3e2",
    b"1e308",
    b"1e999",
    b"NaN",
    b"Infinity",
    b"9" * 5000,
    str(2**63).encode(),
    str(2**64).encode(),
    b"[]",
    b"{}",
    b'[null, 1, "a", {}, []]',
    b"[{}]",
    b"[[]]",
    b'{"a": {"b": null}}',
    _DEEP,
]
BODIES = [b"", b"\0", b"\xff\xfe", b"NaN", b"[]", b'"a"', b"{", b'{"a":1}{}', _DEEP, b"9" * 5000]
FILES = [
    b"",
    b"\0",
    b"\xff\xfe\x00",
    b"url,alias,expires_in\nhttps://example.com," + b"9" * 5000 + b"," + b"9" * 5000,
    b"url,alias,expires_in\n\xd9\xa3,\xe2\x80\xae,NaN\n9999-12-31,x,-1\n,,1e999",
    b'url\n"' + b"x" * 200_000 + b'"',
    "1CClientBankExchange\r\nСекцияДокумент=x\r\nСумма=NaN\r\nДата=99.99.9999\r\n".encode("cp1251"),
    _DEEP,
]
WORST_JSON = [
    b'"\\ud800"',
    b'"a\\u0000"',
    b"true",
    b"1e999",
    b"3e2",
    b"9" * 5000,
    str(2**63).encode(),
    b'[null, 1, "a", {}, []]',
    b"[{}]",
    b'{"a": {"b": null}}',
    _DEEP,
    *(orjson.dumps(text) for text in WORST),
]
