"""Declarations of the other services' dialects, which the packages below them read."""

from api import body_admission
from compat.dialect import dialects
from compat.view import ENTRY_POINT, PREFIX

body_admission.register_entry_point(
    PREFIX, ENTRY_POINT, {name: dialect.title for name, dialect in dialects().items()}
)
