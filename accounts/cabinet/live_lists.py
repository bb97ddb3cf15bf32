"""Lists that show new rows as they come: the first page, asked for anew by the browser."""

from accounts.people.roles import CabinetRequest


def is_live(request: CabinetRequest) -> bool:
    """Only the newest page changes by itself."""
    return request.GET.get("follow") == "1" and not request.GET.get("cursor")
