"""Russian dates in digits, as in the cabinet: lists and tables align them in columns."""

DATE_FORMAT = "d.m.Y"
DATETIME_FORMAT = "d.m.Y, H:i"
SHORT_DATETIME_FORMAT = DATETIME_FORMAT
