"""Visits through the real server: companies' hosts, one-time links, stops, reports."""

import requests

from accounts.models import Company
from links.manage import stopping
from links.models import Link
from tests.factories import CompanyFactory, LinkFactory, ShortHostFactory
from tests.links.visiting import BROWSER_HEADERS
from tests.stack.programs import wait_until
from tests.stack.stack import Stack

TARGET = "https://example.com/orders/77"


def visit(
    stack: Stack, path: str, *, host: str = "", form: dict[str, str] | None = None
) -> requests.Response:
    headers = BROWSER_HEADERS | ({"Host": host} if host else {})
    return requests.request(
        "GET" if form is None else "POST",
        f"{stack.url}/{path}",
        headers=headers,
        data=form,
        allow_redirects=False,
        timeout=30,
    )


def company() -> Company:
    made: Company = CompanyFactory.create()
    return made


def test_link_of_a_company_host_opens_only_there(stack: Stack) -> None:
    host = ShortHostFactory.create(host="go.acme.example")
    link = LinkFactory.create(slug="AcmeSale", host=host, company=host.company, url=TARGET)

    # The server reads the hosts every few seconds; until then it is one like any other.
    wait_until(lambda: visit(stack, "cabinet", host=host.host).status_code == 404)

    assert visit(stack, link.slug, host=host.host).headers["Location"] == TARGET
    assert visit(stack, link.slug).status_code == 404
    assert visit(stack, "api/v1/balance", host=host.host).status_code == 404
    assert "go.acme.example/AcmeSale" in visit(stack, f"{link.slug}+", host=host.host).text


def test_links_stop_and_lead_on_in_the_server(stack: Stack) -> None:
    links: list[Link] = LinkFactory.create_batch(3, company=company(), url=TARGET)

    def responses() -> set[int]:
        return {visit(stack, link.slug).status_code for link in links}

    assert responses() == {302}
    stopping.stop(company=links[0].company)
    wait_until(lambda: responses() == {410})
    stopping.release(company=links[0].company)
    wait_until(lambda: responses() == {302})
