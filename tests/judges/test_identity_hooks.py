"""Libraries that identity servers use judge the hooks; others' servers and connectors that npm has
are in `tests/identity_hooks/servers`.
"""

from functools import partial

import pytest

from channels.models import Message
from identity_hooks.kinds.ory import JSONNET
from tests.identity_hooks.calls import make_hook, secret_of
from tests.judges.programs import run
from tests.stack.stack import Stack

pytestmark = pytest.mark.long
NOT_A_PHONE = {
    "clerk": "422 {",
    "ory": "422 {",
    "supabase": '200 {"error":{"http_code":422,"message":"',  # else the text is lost on its way
}


@pytest.mark.parametrize("kind", NOT_A_PHONE)
def test_hook_understands_the_server(stack: Stack, kind: str) -> None:
    company, phone = stack.sender().company, stack.phone()
    hook, another = make_hook(company, kind), make_hook(company, kind)
    call = partial(run, "identity_calls.py", kind, f"{stack.url}{hook.path}")

    sent, repeated, forged, wrong = (
        call(secret, to, "561166", JSONNET)
        for secret, to in [
            (secret_of(hook), phone),
            (secret_of(hook), phone),
            (secret_of(another), stack.phone()),
            (secret_of(hook), "+7916"),
        ]
    )

    assert [sent[:5], repeated[:5], forged[:5]] == ["200 {", "200 {", "401 {"]
    assert wrong.startswith(NOT_A_PHONE[kind])
    assert stack.carrier.message(phone)["code"] == "561166"
    assert Message.objects.filter(company=company).count() == 1
