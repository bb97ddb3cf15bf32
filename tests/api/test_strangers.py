"""Nobody but the company, in its mode, finds what a call names by its id."""

import orjson
import pytest

from api.calls import Call
from api_docs.calls import CALLS
from tests.api.calling import ASKED, LIVE, addressed
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
    path, body = addressed(api, call), orjson.dumps(ASKED.get(call.name, {}))
    strangers = [client_of(CompanyFactory.create())]
    strangers += [] if call.scope in LIVE else [test_api]

    answers = [other.call(call.method, path, body) for other in strangers]
    paths = (call.path.replace("{id}", name) for name in NOTHING)
    answers += [api.call(call.method, unknown, body) for unknown in paths]

    assert {(answer.status, answer.code) for answer in answers} == {(404, "not_found")}
