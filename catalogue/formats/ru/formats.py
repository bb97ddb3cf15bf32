"""Russian dates in figures, as the cabinet writes them: lists and tables hold them in columns."""

DATE_FORMAT = "d.m.Y"
DATETIME_FORMAT = "d.m.Y, H:i"
SHORT_DATETIME_FORMAT = DATETIME_FORMAT
