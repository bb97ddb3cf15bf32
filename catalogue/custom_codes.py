"""The form of a custom code: one that a company, or its identity server, makes itself."""

import re

from django.utils.translation import gettext_lazy as _

MIN_LENGTH = 4
MAX_LENGTH = 10
PATTERN = f"[A-Za-z0-9]{{{MIN_LENGTH},{MAX_LENGTH}}}"
WRONG_FORM = _("A string of 4 to 10 Latin letters or digits")
_CODE = re.compile(PATTERN)


def is_well_formed(text: str) -> bool:
    return _CODE.fullmatch(text) is not None
