"""Forms of strangers are kept in no session, where they would stay for hours and fill the disk."""

import pytest
from django.contrib.sessions.models import Session
from django.test import Client
from django.urls import NoReverseMatch, reverse

from accounts.security.middleware import ACCOUNT_PREFIX
from tests.cabinet.routes import names

FILLER = "x" * 1000


def _path(name: str) -> str:
    for kwargs in ({}, {"pk": 1}, {"key": "a"}, {"uidb36": "1", "key": "a"}):
        try:
            return reverse(name, kwargs=kwargs)
        except NoReverseMatch:
            continue
    return ""


PATHS = sorted(path for path in map(_path, names()) if path.startswith(ACCOUNT_PREFIX))


@pytest.mark.django_db
def test_post_of_a_stranger_is_in_no_session() -> None:
    for path in PATHS:
        Client().post(path, {"filler": FILLER})

        stored = [str(row.get_decoded()) for row in Session.objects.all()]
        assert [session for session in stored if FILLER in session] == [], path
