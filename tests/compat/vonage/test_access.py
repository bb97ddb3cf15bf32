"""Vonage Verify v2: tokens that a client signs, templates, and calls at once."""

from uuid import UUID

import pytest

from accounts.models import Company
from channels.models import Message
from compat.vonage.dialect import DIALECT
from otp.models import Verification
from tests.accounts.keys.jwt_clients import private_key, public_pem, token_of
from tests.api.races import at_once
from tests.compat.clients import DialectClient, client_key
from tests.compat.vonage.calls import check, start, started

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    "path",
    [
        "/v2/verify/templates",
        "/v2/verify/templates/a1b2c3d4",
        "/v2/verify/templates/a1b2c3d4/template_fragments",
        "/v2/verify/templates/a1b2c3d4/template_fragments/c70f446e",
    ],
)
@pytest.mark.parametrize("method", ["GET", "POST", "PATCH", "DELETE"])
def test_templates_are_not_managed_here(client: DialectClient, method: str, path: str) -> None:
    response = client.call(method, path, b"{}")

    check(response, 403, "Forbidden", "forbidden")
    assert response.body["detail"] == "Templates management is not enabled for your account"


def test_token_that_the_client_signed_opens_the_calls(company: Company) -> None:
    key = client_key(company, public_key=public_pem(private_key()))
    token = token_of(key)
    strangers = token_of(key, private_key("other"))

    request_id = started(DialectClient(DIALECT, None, Authorization=f"Bearer {token}"))

    assert Verification.objects.get().pk == UUID(request_id)
    for header in (f"Bearer {strangers}", f"Bearer {token}x", f"Bearer {key.plaintext}", "Bearer"):
        refused = start(DialectClient(DIALECT, None, Authorization=header))
        check(refused, 401, "Unauthorized", "unauthorized")
        assert refused.body["detail"] == "You did not provide correct credentials."


def test_parallel_starts_make_one_message(transactional_db: None, live: DialectClient) -> None:
    responses = at_once([lambda: start(live)] * 2)

    assert responses[0].status + responses[1].status in {202 + 409, 202 + 429}
    assert Message.objects.count() == 1
