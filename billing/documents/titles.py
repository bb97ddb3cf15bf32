"""Texts on documents that are the same in all their forms."""

from typing import Any

# In Russian, as the tax service's forms are.
SERVICE = "Услуги по доставке сообщений через сервис Kvitok, токены"


def advance_title(line: dict[str, Any]) -> str:
    number = f" по счету {line['invoice']}" if line["invoice"] else ""
    return f"Предварительная оплата{number}: {SERVICE[0].lower()}{SERVICE[1:]}"
