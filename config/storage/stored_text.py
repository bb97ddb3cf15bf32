"""Text from outside, as a column takes it."""


def stored_text(text: str | None, max_length: int) -> str:
    """Without NUL and halves of surrogate pairs, which PostgreSQL and JSON refuse, and cut.

    Every text that is written together with others' rows goes through this when it is received.
    """
    cut = (text or "")[:max_length]
    if cut.isascii() and "\0" not in cut:
        return cut
    return cut.replace("\0", "").encode(errors="replace").decode()
