"""Nobody but the company, in its mode and with the scope, gets what a call names."""

import orjson
import pytest

from accounts.models import Company, Scope, every_scope
from api.calls import Call
from api_docs.calls import CALLS
from tests.api.calling import BODIES, NEEDS_LIVE_KEY, PHONE, path_of
from tests.api.clients import Api, ClientOf
from tests.factories import CompanyFactory

NOTHING = (
    *("x", "otp_1", "top_0", "lnk_x", "whk_junk", "bat_x", "%00", "ж", "msg_" + "1" * 5000),
    *("0" * 32, "otp_" + "0" * 32, "msg_" + "f" * 32, "msg_" + "g" * 32, "top_" + "-" * 32),
)


@pytest.mark.usefixtures("price_list")
@pytest.mark.parametrize(
    "call", [call for call in CALLS if "{id}" in call.path], ids=lambda call: call.name
)
def test_object_of_others_is_not_found(
    api: Api, test_api: Api, client_of: ClientOf, call: Call
) -> None:
    path = path_of(api, call)
    body = orjson.dumps(BODIES.get(call.name, {}))
    strangers = [client_of(CompanyFactory.create())]
    strangers += [] if call.scope in NEEDS_LIVE_KEY else [test_api]

    responses = [other.call(call.method, path, body) for other in strangers]
    paths = (call.path.replace("{id}", name) for name in NOTHING)
    responses += [api.call(call.method, unknown, body) for unknown in paths]

    assert {(response.status, response.code) for response in responses} == {(404, "not_found")}


SCOPES = {
    "otp": Scope.OTP,
    "lookup": Scope.OTP,
    "links": Scope.LINKS,
    "batches": Scope.LINKS,
    "messages": Scope.MESSAGES,
    "test": Scope.MESSAGES,
    "channels": None,
    "policy": Scope.POLICY,
    "balance": Scope.BALANCE,
    "seals": Scope.BALANCE,
    "documents": Scope.BALANCE,
    "top-up": Scope.TOP_UP,
    "webhooks": Scope.WEBHOOKS,
    "persons": Scope.PERSONS,
}


@pytest.mark.parametrize("call", CALLS, ids=lambda call: call.name)
def test_key_without_the_scope_is_refused(
    company: Company, client_of: ClientOf, call: Call
) -> None:
    scope = SCOPES[call.path.split("/")[1]]
    client = client_of(company, scopes=[name for name in every_scope() if name != scope])

    response = client.call(call.method, call.path.replace("{id}", "x").replace("{phone}", PHONE))

    no_scope = (403, "У ключа нет права на это действие")
    assert ((response.status, response.body["message"]) == no_scope) is (scope is not None)
