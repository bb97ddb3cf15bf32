"""A sheet for PDF documents: fonts with Cyrillic letters, margins, sizes in millimetres."""

from collections.abc import Collection, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from functools import cache
from pathlib import Path
from unicodedata import normalize

from fontTools.ttLib import TTFont
from fpdf import FPDF
from fpdf.enums import TableBordersLayout, TextEmphasis
from fpdf.fonts import FontFace
from fpdf.table import Table

from parsing.characters import is_text
from storage.heavy_work import HeavyWork

# From DejaVu 2.37 the letters of Latin, Greek, Cyrillic, Armenian and Georgian, and signs of money.
FONTS = Path(__file__).parent / "fonts"
REGULAR = FONTS / "DejaVuSansCondensed.ttf"
FONT_FAMILY = "DejaVu"
MARGIN = 15  # mm
LINE = 5  # mm
TEXT = 9.5  # points
SMALL = 8
HEADING = 14
DRAWING = HeavyWork("documents drawn", limit=2)  # half a second each, some without a sign-in
BOLD = FontFace(emphasis=TextEmphasis.B)


def undrawable_characters(text: str) -> str:
    """The characters that a document's fonts cannot draw, each once."""
    letters = (char for char in normalize("NFC", text) if not char.isspace())
    return "".join(dict.fromkeys(char for char in letters if ord(char) not in _drawable()))


@cache
def _drawable() -> Collection[int]:
    with TTFont(REGULAR, lazy=True) as font:
        return frozenset(font.getBestCmap() or ())


class Sheet(FPDF):
    def normalize_text(self, text: str) -> str:
        """Normalises all texts of a document: people's texts may have characters that no font
        draws, or that reverse the direction of their surroundings.
        """
        if not is_text(text):
            text = "".join(char if is_text(char) else " " for char in text)
        return super().normalize_text(text)


def new_sheet(
    title: str, language: str, created_at: datetime, *, is_landscape: bool = False
) -> FPDF:
    """A first A4 page; the same arguments give the same bytes."""
    pdf = Sheet(orientation="landscape" if is_landscape else "portrait")
    pdf.set_creation_date(created_at)
    pdf.set_title(title)
    pdf.set_lang(language)
    pdf.add_font(FONT_FAMILY, "", REGULAR)
    pdf.add_font(FONT_FAMILY, "B", FONTS / "DejaVuSansCondensed-Bold.ttf")
    pdf.set_margin(MARGIN)
    pdf.set_font(FONT_FAMILY, size=TEXT)
    pdf.add_page()
    return pdf


def grid(
    pdf: FPDF, widths: Sequence[float] | None, aligns: Sequence[str]
) -> AbstractContextManager[Table]:
    """A table with lines around each cell and bold headings."""
    return pdf.table(
        col_widths=tuple(widths) if widths else None,
        line_height=LINE,
        text_align=tuple(aligns),
        headings_style=BOLD,
        borders_layout=TableBordersLayout.ALL,
    )


def paragraph(pdf: FPDF, text: str, *, is_bold: bool = False) -> None:
    """A paragraph of full width, then a new line."""
    pdf.set_font(FONT_FAMILY, "B" if is_bold else "")
    pdf.multi_cell(0, LINE, text, align="L", new_x="LMARGIN", new_y="NEXT")
    pdf.set_font(FONT_FAMILY, "")


def heading(pdf: FPDF, text: str) -> None:
    pdf.set_font(FONT_FAMILY, "B", HEADING)
    pdf.multi_cell(0, 8, text, align="L", new_x="LMARGIN", new_y="NEXT")
    pdf.set_font(FONT_FAMILY, size=TEXT)
