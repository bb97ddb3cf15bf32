"""Characters that steer programs instead of being read: in no text of a bank or a provider, and in
no document made of people's texts. XML forbids most of them, PostgreSQL the NUL.
"""

import re

# C0, DEL and C1; the line and paragraph separators; bidirectional embeddings, overrides and
# isolates, by which a text looks like another one; surrogates; the two that are no characters.
_CONTROLS = re.compile(
    "[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]"
)


def has_controls(text: str) -> bool:
    return _CONTROLS.search(text) is not None


def without_controls(text: str) -> str:
    """With a space in the place of each."""
    return _CONTROLS.sub(" ", text)
