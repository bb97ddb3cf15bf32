"""The type of a text shown to people."""

from django.utils.functional import Promise

StrOrPromise = str | Promise  # a text as it is, or one that gettext renders in the active language
