"""Whether each provider's account works, asked of the vendor itself without a message."""

from channels import registry, wording
from channels.providers.base import Provider, SendError, TransientError
from desk.doctor.finding import Finding, failed, passed

NONE = "Set the credentials of at least one provider: see “Connecting the vendors” in the docs."
WRONG = "Compare the account's variables with the vendor's console, then restart every process."
AWAY = "The vendor did not answer: see its status page, and that this machine may reach it."


def providers() -> list[Finding]:
    live = registry.live_providers()
    if not live:
        return [failed("providers", "none is configured: nothing can be sent", NONE)]
    hosted = registry.hosted()  # asked of their own processes: `programs.binds`
    return [_asked(name, provider) for name, provider in live.items() if name not in hosted]


def _asked(name: str, provider: Provider) -> Finding:
    title = str(wording.provider_title(name))
    try:
        provider.check()
    except TransientError as error:
        return failed(title, str(error), AWAY)
    except SendError as error:
        return failed(title, str(error), WRONG)
    return passed(title, "the account works")
