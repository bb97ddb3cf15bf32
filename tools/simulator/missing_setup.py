"""Simulates an account whose setup is incomplete, one missing part by its name."""

LACKS = (
    "registration",  # of the number
    "verification",
    "quality",
    "display_name",
    "subscription",  # of the app to the account
    "template",  # one of them is not approved in one language
    "template_rejected",
    "template_paused",  # people complained of it
    "campaign",  # of the messaging service: US carriers' review failed
    "webhook",  # no address to call is set
    "webhook_fields",
    "money",
    "sender",
    "country",
    "trial",  # the account was never upgraded
)


def read_lacks(body: dict[str, object]) -> tuple[set[str], dict[str, str]]:
    """What is asked for, and the mistakes in it by field."""
    wanted = body.get("lacks")
    if not isinstance(wanted, list) or not set(map(str, wanted)) <= set(LACKS):
        return set(), {"lacks": f"must be a list of {', '.join(LACKS)}"}
    return set(map(str, wanted)), {}
