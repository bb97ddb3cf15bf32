"""How many SMS a text is: GSM 03.38 septets or UCS-2 code units, packed as operators do."""

BASIC = frozenset(
    "@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !\"#¤%&'()*+,-./0123456789:;<=>?"
    "¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿abcdefghijklmnopqrstuvwxyzäöñüà"
)
EXTENDED = frozenset("\f^{}\\[~]|€")


def count_segments(text: str) -> int:
    if all(sign in BASIC or sign in EXTENDED for sign in text):
        return _pack([2 if sign in EXTENDED else 1 for sign in text], 160, 153)
    return _pack([2 if ord(sign) > 0xFFFF else 1 for sign in text], 70, 67)


def _pack(widths: list[int], alone: int, part: int) -> int:
    """A sign is never split, so an escape or a surrogate pair may leave a part one short."""
    if sum(widths) <= alone:
        return 1
    parts, room = 1, part
    for width in widths:
        if width > room:
            parts, room = parts + 1, part
        room -= width
    return parts
