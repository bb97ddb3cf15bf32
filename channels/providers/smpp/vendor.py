"""SMPP 3.4: the options of an account, texts and setup."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from django.utils.translation import gettext_lazy as _

from catalogue.account_options import Option, comma_separated, name_value_pairs
from channels.providers.declaration import (
    ACCOUNT_FAULT,
    BAD_NUMBER,
    BUSY,
    OTHER_CHANNEL,
    TOO_FAST,
    SetupStep,
    Vendor,
    texts,
)

_AUTOMATIC = "-1"  # TON and NPI by the form of the sender
OPTIONS = (
    Option("host"),
    Option("port", default="2775", read=int),
    Option("tls", default="1", read=lambda text: text == "1"),
    Option("ca_file"),
    Option("system_id"),
    Option("password"),
    Option("system_type"),
    Option("source"),
    Option("source_ton", default=_AUTOMATIC, read=int),
    Option("source_npi", default=_AUTOMATIC, read=int),
    Option("dest_ton", default="1", read=int),
    Option("dest_npi", default="1", read=int),
    Option("alphabet", default="gsm"),
    Option("long", default="udh"),
    Option("validity", default="relative"),
    Option("message_ids", default="auto"),
    Option("statuses", read=name_value_pairs),
    Option("receipt_states", read=name_value_pairs),
    Option("barred_errors", read=comma_separated),
    Option("window", default="10", read=int),
    Option("enquire", default="30", read=float),
)
_IN_THE_QUERY = {option.name for option in OPTIONS} - {
    "host",
    "port",
    "tls",
    "system_id",
    "password",
}


_SHAPE = "must be smpps://system_id:password@host:port?source=…, where # / ? are %23 %2F %3F"


def _split(text: str) -> dict[str, str]:
    """Splits `smpps://system_id:password@host:port?source=…`; `smpp` encrypts nothing."""
    try:
        url = urlsplit(text)
        options = dict(parse_qsl(url.query, keep_blank_values=True, strict_parsing=bool(url.query)))
    except ValueError:  # its text may quote a part of the password
        raise ValueError(_SHAPE) from None
    login, _at, hosts = url.netloc.rpartition("@")
    system_id, _colon, password = login.partition(":")
    if url.scheme not in {"smpp", "smpps"} or url.path.strip("/") or url.fragment or not hosts:
        raise ValueError(_SHAPE)
    if unknown := options.keys() - _IN_THE_QUERY:
        raise ValueError(f"has no option {min(unknown)}; known: {', '.join(sorted(_IN_THE_QUERY))}")
    return options | {
        "host": hosts,
        "tls": str(int(url.scheme == "smpps")),
        "system_id": unquote(system_id),
        "password": unquote(password),
    }


def _check(options: Mapping[str, Any]) -> str:
    if options["host"] and not (options["system_id"] and options["source"]):
        return "needs a system_id before the host, and source=…"
    return ""


FAILURES = texts(
    (("ESME_RINVDSTADR",), BAD_NUMBER),
    (("ESME_RTHROTTLED", "ESME_RMSGQFUL"), TOO_FAST),
    (("ESME_RSYSERR", "ESME_RSUBMITFAIL", "ESME_RX_T_APPN", "ESME_RUNKNOWNERR"), BUSY),
    (("not_bound",), BUSY),
    (("ESME_RINVSRCADR", "ESME_RINVSRCTON", "ESME_RINVSRCNPI"), ACCOUNT_FAULT),
    (("ESME_RINVBNDSTS", "ESME_RINVSYSTYP"), ACCOUNT_FAULT),
    (("unfinished",), _("The phone has only the beginning of a long message.")),
)
ALERTS = {
    "receipt": _(
        "The message centre sends receipts that cannot be understood, so they prove nothing. If "
        "the detail is a state, say what it means by receipt_states in SMPP_URL."
    )
}

STEPS = (
    SetupStep(
        "SMPP",
        _("Ask the vendor for the address, for TLS, for the login and for the sender."),
        ("host", "port", "tls", "system_id", "password", "source"),
    ),
    SetupStep(
        "SMPP",
        _(
            "Also ask how many messages may be unanswered at once, and which alphabet data_coding "
            "0 means. The operator's guide lists the other questions."
        ),
        ("window", "alphabet"),
    ),
    SetupStep(
        "manage.py run_smpp",
        _("Start its process. There is no address to set: receipts arrive over the bind."),
    ),
)
# Each account has its own process, started by the environment: the admin has no form for it.
VENDOR = Vendor(
    name="smpp",
    title="SMPP",
    position=40,
    class_name="Smpp",
    options=OPTIONS,
    steps=STEPS,
    required="host",
    split=_split,
    check=_check,
    failures=FAILURES,
    alerts=ALERTS,
    advice={"ESME_RINVDSTADR": OTHER_CHANNEL},
)
