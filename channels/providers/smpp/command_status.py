"""The error for each command_status: SMPP 3.4 §5.1.3."""

from collections.abc import Mapping

from smpplib import consts

from channels.providers import http
from channels.providers.base import SendError

# Our response to a receipt that we cannot read or cannot store yet.
RETRY_LATER = consts.SMPP_ESME_RX_T_APPN

# Errors for an account's own table of statuses, if its centre deviates from the standard.
ERROR_KIND_NAMES: dict[str, http.ErrorKind] = {
    "unreachable": http.UNREACHABLE,
    "barred": http.BARRED,
    "refused": http.REFUSED,
    "account": http.ACCOUNT_REFUSED,
    "transient": http.TRANSIENT,
    "throttled": http.THROTTLED,
    "account_throttled": http.ACCOUNT_THROTTLED,
}
_NAMES: dict[int, str] = {
    value: name.removeprefix("SMPP_")
    for name, value in vars(consts).items()
    if name.startswith("SMPP_ESME_")
}
_ERROR_KINDS: dict[int, http.ErrorKind] = {
    consts.SMPP_ESME_RINVDSTADR: http.UNREACHABLE,
    consts.SMPP_ESME_RTHROTTLED: http.ACCOUNT_THROTTLED,
    consts.SMPP_ESME_RMSGQFUL: http.THROTTLED,  # often the queue of this one phone
    **dict.fromkeys(
        (
            consts.SMPP_ESME_RSYSERR,
            consts.SMPP_ESME_RSUBMITFAIL,
            consts.SMPP_ESME_RX_T_APPN,
            consts.SMPP_ESME_RUNKNOWNERR,
        ),
        http.TRANSIENT,
    ),
    **dict.fromkeys(
        (
            consts.SMPP_ESME_RINVCMDLEN,
            consts.SMPP_ESME_RINVCMDID,
            consts.SMPP_ESME_RINVBNDSTS,
            consts.SMPP_ESME_RALYBND,
            consts.SMPP_ESME_RINVSRCADR,
            consts.SMPP_ESME_RBINDFAIL,
            consts.SMPP_ESME_RINVPASWD,
            consts.SMPP_ESME_RINVSYSID,
            consts.SMPP_ESME_RINVSRCTON,
            consts.SMPP_ESME_RINVSRCNPI,
            consts.SMPP_ESME_RINVSYSTYP,
        ),
        http.ACCOUNT_REFUSED,
    ),
}


def name(status: int) -> str:
    """The name in the standard, which vendors' support also uses."""
    return _NAMES.get(status, f"0x{status:02X}")


def parse_overrides(written: Mapping[str, str]) -> dict[int, http.ErrorKind]:
    """Parses vendor-specific statuses, as {"0x401": "unreachable"}; raises ValueError."""
    try:
        return {int(number, 0): ERROR_KIND_NAMES[word] for number, word in written.items()}
    except KeyError as error:
        raise ValueError(
            f"SMPP_URL: statuses: unknown meaning {error}; known: {', '.join(ERROR_KIND_NAMES)}"
        ) from None


def refusal(status: int, kinds: Mapping[int, http.ErrorKind]) -> SendError:
    """The error for a status other than 0, which always means that the message was refused."""
    error, account = kinds.get(status) or _ERROR_KINDS.get(status, http.REFUSED)
    detail = consts.DESCRIPTIONS.get(status, "a status of the vendor's own")
    return error(name(status), detail, account=account)
