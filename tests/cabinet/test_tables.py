import re

import pytest
from django.test import Client
from django.urls import reverse

from accounts.models import Company, Member
from tests.cabinet.pages import addresses, create_content

FIRST_HEADING = re.compile(r"<thead[^>]*>\s*<tr>\s*<th[^>]*>(.*?)</th>", re.S)
TABS = re.compile(r'<a class="nav-link[^>]*>(.*?)</a>', re.S)


@pytest.fixture
def company_with_content(company: Company) -> Company:
    create_content(company)
    return company


def texts(pattern: re.Pattern[str], body: str) -> set[str]:
    return {re.sub(r"<[^>]*>", "", found).strip() for found in pattern.findall(body)}


def test_first_heading_of_a_table_names_its_column(
    client: Client, owner: Member, company_with_content: Company
) -> None:
    """It is neither empty nor the title of the tab that chose the table."""
    wrong = []
    pages = [*addresses(company_with_content)]
    pages += [f"{reverse('overview')}?by={by}" for by in ("country", "purpose", "api_key")]
    for path in pages:
        body = client.get(path).content.decode(errors="replace")
        headings = texts(FIRST_HEADING, body)
        if "" in headings or headings & texts(TABS, body):
            wrong.append(path)

    assert wrong == []


def test_navigations_of_a_page_have_names_of_their_own(
    client: Client, owner: Member, company_with_content: Company
) -> None:
    wrong = []
    for path in addresses(company_with_content):
        body = client.get(path).content.decode(errors="replace")
        names = re.findall(r'<nav[^>]*aria-label="([^"]*)"', body)
        if len(names) != len(set(names)):
            wrong.append((path, names))

    assert wrong == []
