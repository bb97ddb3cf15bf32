"""Fields that calls of several packages share."""

from django.utils.translation import gettext_lazy as _

from accounts.api.fields import Field, boolean, integer, nullable, text

TEST = Field(
    "test",
    boolean(),
    _("`true` when a test key made the request."),
    False,
    source=lambda row: row.mode == "test",
)
LIMIT = Field(
    "limit",
    integer(1, 200),
    _("Rows on a page, 50 by default."),
    required=False,
)
CURSOR = Field(
    "cursor",
    text(),
    _("`next_cursor` of the previous page, to get the next one."),
    required=False,
)
HAS_MORE = Field("has_more", boolean(), _("Whether there is another page."), False)
NEXT_CURSOR = Field(
    "next_cursor",
    nullable(text()),
    _("Pass it as `cursor`; `null` on the last page."),
    None,
)
REQUEST_ID = Field(
    "request_id",
    text(pattern="^req_[0-9a-f]{22}$"),
    _("`X-Request-Id` of the request."),
    "req_6f1d2c3b4a59687766aa00",
    source="request_id",
)
