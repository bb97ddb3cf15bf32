"""Names of short links that people would take for pages of the service, in any spelling."""

import re
from collections.abc import Iterable

BRAND = "kvitok"
_WORDS = (
    "2fa abuse account accounting accounts activate admin administrator admins alert api app apps "
    "auth authenticate authorize balance banned bill billing brand cabinet callback callbacks cdn "
    "checkin checkout code codes confirm confirmation console contact contacts credentials "
    "dashboard desk dev developer developers doc docs document documentation documents download "
    "downloads email error errors faq favicon forgot fraud ftp health help helpdesk hook hooks id "
    "identity imap invoice invoices legal license link links live livez localhost log login logon "
    "logout mail manage member members metrics mfa mobile notification notifications null oauth "
    "oauth2 official openid operator otp owner passcode passkey passkeys password passwords pay "
    "payment payments phone ping pop3 pricing privacy private profile public qr readyz recover "
    "recovery redirect refund refunds register registration reset restore root safe safety saml "
    "schema secure security send service services session sessions settings short shorten signin "
    "signon signout signup sms smtp ssl sso staff static stats status subscribe support sys "
    "sysadmin system telegram terms test token tokens tos totp trust undefined unlock unsubscribe "
    "username validate verification verify wallet webhook webhooks webmail well-known whatsapp "
    "www"
)
# Digits and letters that pass for one another, each as one of them.
_ALIKE = str.maketrans(
    {"0": "o", "1": "l", "i": "l", "j": "l", "3": "e", "4": "a", "5": "s", "7": "t", "8": "b"}
)
_SEPARATORS = re.compile(r"[-_]+")


def skeleton(name: str) -> str:
    """What is left when look-alike characters are one, and hyphens and underscores none."""
    plain = _SEPARATORS.sub("", name.lower()).translate(_ALIKE)
    return plain.replace("rn", "m").replace("vv", "w")


_SKELETONS = frozenset(map(skeleton, _WORDS.split()))
_BRAND = skeleton(BRAND)


def is_reserved(name: str, routes: Iterable[str] = ()) -> bool:
    """Whether a name reads as the service's: its brand somewhere, one of the words, or several of
    them in a row as in `account-verify`. `routes`: further words.
    """
    known = _SKELETONS.union(map(skeleton, routes))
    if _BRAND in skeleton(name) or skeleton(name) in known:
        return True
    return all(skeleton(part) in known for part in _SEPARATORS.split(name))
