from io import BytesIO
from pathlib import Path

import pypdf
from django.utils import timezone

from billing.orders import pdf

ROOT = Path(__file__).resolve().parents[3]


def test_characters_that_no_font_draws_are_spaces() -> None:
    sheet = pdf.new_sheet("Счёт", "ru", timezone.now())

    pdf.paragraph(sheet, "Роза\x00\x0b\u202e\ufffeЛютик\nМак\u00a05")

    (page,) = pypdf.PdfReader(BytesIO(sheet.output())).pages
    assert page.extract_text().split() == ["Роза", "Лютик", "Мак", "5"]


def test_no_document_is_drawn_on_another_one() -> None:
    texts = [path.read_text(encoding="utf-8") for path in (ROOT / "billing").rglob("*.py")]

    assert not [text for text in texts if "FPDF(" in text]
    assert sum("new_sheet(" in text for text in texts) > 1
