"""Every audit action has a text in the cabinet."""

import re
from pathlib import Path

import pytest
from django.utils import translation

from accounts.audit import ACTION_LABELS, FIELD_LABELS, label, subject
from accounts.cabinet.settings_forms import SECTIONS
from accounts.models import AuditEvent
from billing.web.forms import ProfileForm
from channels.web.forms import HistoryFilter

ROOT = Path(__file__).parents[3]
RECORDED = re.compile(r'\brecord\(\s*"([a-z_.]+)"')


def test_every_audited_action_has_a_label() -> None:
    sources = (path for app in ("accounts", "billing", "channels", "links", "otp")
               for path in (ROOT / app).rglob("*.py"))  # fmt: skip

    recorded = {name for path in sources for name in RECORDED.findall(path.read_text("utf-8"))}

    assert len(recorded) > 20
    assert recorded - set(ACTION_LABELS) == set()


@pytest.mark.parametrize("form", [*SECTIONS.values(), ProfileForm, HistoryFilter])
def test_field_labels_equal_form_labels(form: type) -> None:
    fields = form.base_fields  # type: ignore[attr-defined]

    named = {name: str(field.label) for name, field in fields.items() if field.label}
    named.pop("country_codes", None)  # another way to fill in the allowed countries

    assert {name: str(FIELD_LABELS.get(name)) for name in named} == named


def test_subject_is_translated_for_the_reader() -> None:
    event = AuditEvent(action="settings.changed", subject="brand, code_length")

    with translation.override("ru"):
        assert str(label("webhook.gave_up")).startswith("Отключены")
        assert subject(event) == "Бренд в сообщениях, Цифр в коде"
    assert subject(AuditEvent(action="member.left", subject="brand")) == "brand"


@pytest.mark.parametrize(
    ("event", "words"),
    [
        (
            AuditEvent(
                action="guard.mode_changed",
                subject="enforce → off",
                changes={"guard_mode": ["enforce", "off"]},
            ),
            "придерживать → выключена",
        ),
        (AuditEvent(action="guard.mode_changed", subject="watch → enforce"), "только смотреть → "),
        (
            AuditEvent(
                action="guard.watches_others", changes={"guard_watches_others": [True, False]}
            ),
            "не учитываются",
        ),
        (AuditEvent(action="guard.lifted", subject="ip"), "один IP-адрес"),
        (AuditEvent(action="guard.lifted", subject="RU"), "Россия"),
        (AuditEvent(action="guard.let_through", subject="+7916123"), "+7916123…"),
    ],
)
def test_acts_on_the_protection_are_worded(event: AuditEvent, words: str) -> None:
    with translation.override("ru"):
        assert subject(event).startswith(words)
