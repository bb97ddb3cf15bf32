"""Fields that calls of several packages share."""

from django.utils.translation import gettext_lazy as _

from accounts.api.fields import Field, boolean, integer, nullable, text

TEST = Field(
    "test",
    boolean(),
    _("`true` if the request was made with a test key."),
    False,
    source=lambda row: row.mode == "test",
)
LIMIT = Field(
    "limit",
    integer(1, 200),
    _("The number of items per page, 50 by default."),
    required=False,
)
CURSOR = Field(
    "cursor",
    text(),
    _("The `next_cursor` of the previous page."),
    required=False,
)
HAS_MORE = Field(
    "has_more",
    boolean(),
    _(
        "Whether there may be more items after this page. A page of a filtered list may have "
        "fewer items than `limit`, even none, before the last page."
    ),
    False,
)
NEXT_CURSOR = Field(
    "next_cursor",
    nullable(text()),
    _("The value to pass as `cursor` to get the next page; `null` on the last page."),
    None,
)
REQUEST_ID = Field(
    "request_id",
    text(pattern="^req_[0-9a-f]{22}$"),
    _("The id of the request, also sent as `X-Request-Id`."),
    "req_6f1d2c3b4a59687766aa00",
    source="request_id",
)
