"""The type of a text shown to people."""

from django.utils.functional import Promise

StrOrPromise = str | Promise  # plain, or translated by gettext into the active language when shown
