"""Generated data: the demo companies of `make run`, and histories of any size.

Everything about a message of a history is derived from its day and its number, so that the same
call generates the same history.
"""

from config.local.processes import StartError

KEY_ID = "past"  # not in OTP_KEYS: these codes cannot be derived


class DemoError(StartError):
    """An error whose text tells the user why no data was generated."""
