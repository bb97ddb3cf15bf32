"""Links of a file: checked first, each made once, whatever dies on the way."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from functools import partial

import pytest
from django.core.exceptions import ValidationError
from django.db import OperationalError, transaction
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from accounts import purges
from accounts.models import Company, Member
from catalogue.errors import DomainError
from links import link_imports
from links.make.bulk import MAX_LINKS
from links.models import Link, LinkImport
from tests.api.blocking import start_blocked
from tests.api.races import at_once
from tests.factories import LinkFactory, MemberFactory

URL = "https://example.com"


def upload(member: Member, text: str, mode: str = "live") -> LinkImport:
    return link_imports.upload(
        company=member.company, user=member.user, mode=mode, name="links.csv", content=text.encode()
    )


def start(one: LinkImport) -> bool:
    assert one.created_by
    return link_imports.start(link_import=one, user=one.created_by, ip=None)


def make_all(one: LinkImport) -> LinkImport:
    start(one)
    while link_imports.make_next():
        pass
    one.refresh_from_db()
    return one


def test_rows_become_links_of_one_batch(owner: Member) -> None:
    link_import = make_all(upload(owner, f"{URL}/1\n{URL}/2,sale,3600\n"))

    links = list(Link.objects.order_by("url"))
    assert [(link.url, link.batch_id) for link in links] == [
        (f"{URL}/{n}", link_import.id) for n in (1, 2)
    ]
    assert links[1].slug == "sale"
    until = links[1].expires_at
    assert until is not None
    assert abs(until - timezone.now() - timedelta(hours=1)) < timedelta(minutes=1)
    assert [row.short_url for row in link_import.rows.order_by("number")] == [
        x.short_url for x in links
    ]
    assert (link_import.state, link_import.made, link_import.refused) == ("done", 2, 0)


@pytest.mark.parametrize(
    ("written", "seconds"),
    [("86400", 86400), ("86400.0", 86400), ("86400,00", 86400), ("86,400", None), ("90.5", None)],
)
def test_lifetime_is_read_as_data_frames_write_it(
    owner: Member, written: str, seconds: int | None
) -> None:
    """A column with an empty cell becomes one of decimals; a separator of thousands is none."""
    link_import = upload(owner, f"url;expires_in\n{URL};\n{URL};{written}")

    assert link_import.refused == (seconds is None)
    make_all(link_import)
    times = Link.objects.exclude(expires_at=None).values_list("expires_at", flat=True)
    left = [time - timezone.now() for time in times if time]
    assert [round(lifetime.total_seconds(), -2) for lifetime in left] == [seconds] * len(left)
    assert len(left) == (seconds is not None)


def test_faults_are_known_before_anything_is_made(owner: Member) -> None:
    LinkFactory.create(slug="taken", key="taken", is_alias=True)
    text = f"{URL}\nhttp://localhost\n{URL},a b\n{URL},,soon\n{URL},,5\n,name\n{URL},taken"

    link_import = upload(owner, text)
    before = [row.number for row in link_import.rows.exclude(error="").order_by("number")]
    make_all(link_import)

    assert before == [2, 3, 4, 5, 6]
    assert (link_import.made, link_import.refused) == (1, 6)
    assert "занят" in link_import.rows.get(number=7).error
    assert Link.objects.filter(company=owner.company).count() == 1


def test_ambiguous_row_makes_no_link(owner: Member) -> None:
    link_import = make_all(upload(owner, f"url,alias\n{URL}/?a=1,2,sale\n{URL}/b,other"))

    assert [link.url for link in Link.objects.all()] == [f"{URL}/b"]
    assert "кавычки" in link_import.rows.get(number=1).error
    assert link_import.rows.get(number=1).url == f"{URL}/?a=1,2,sale"


def test_upload_makes_no_link_and_start_counts_once(owner: Member) -> None:
    link_import = upload(owner, URL)

    assert not link_imports.make_next()
    assert [start(link_import), start(link_import)] == [True, False]
    assert owner.company.audit.filter(action="links.imported").count() == 1


def test_discarded_file_is_gone_and_a_started_one_is_not(owner: Member) -> None:
    draft = upload(owner, URL)
    started = upload(owner, URL)
    start(started)

    assert [link_imports.discard(draft), link_imports.discard(started)] == [True, False]
    assert LinkImport.objects.get() == started


@pytest.mark.django_db(transaction=True)
def test_file_that_is_started_meanwhile_is_not_discarded(owner: Member) -> None:
    link_import = upload(owner, URL)

    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            start(link_import)
            discarding = start_blocked(pool, partial(link_imports.discard, link_import))
        assert not discarding.result()

    assert make_all(link_import).made == 1


def test_sixth_unfinished_file_is_refused(owner: Member) -> None:
    for _number in range(5):
        upload(owner, URL)

    with pytest.raises(ValidationError):
        upload(owner, URL)


def test_finished_files_of_a_company_have_a_bound(
    owner: Member, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Anybody who signs up could fill the disk by test files of which no row is an address."""
    monkeypatch.setattr(link_imports, "MAX_FINISHED", 2)
    draft = upload(owner, URL)
    files = [make_all(upload(owner, "nothing", mode="test")) for _n in range(5)]

    assert set(LinkImport.objects.all()) == {draft, *files[-3:]}


def test_company_that_waits_for_approval_keeps_few_files(owner: Member) -> None:
    owner.company.status = Company.Status.PENDING
    owner.company.save()

    for _number in range(7):
        make_all(upload(owner, "nothing", mode="test"))

    assert LinkImport.objects.count() == 6


@pytest.mark.django_db(transaction=True)
def test_parallel_uploads_cannot_exceed_the_limit(owner: Member) -> None:
    for _ in range(link_imports.MAX_UNFINISHED - 1):
        upload(owner, URL)

    def upload_one() -> bool:
        try:
            upload(owner, URL)
        except (ValidationError, OperationalError):  # too many wait, or are being read
            return False
        return True

    assert sum(at_once([upload_one] * 10)) == 1
    assert LinkImport.objects.count() == link_imports.MAX_UNFINISHED


def test_commits_add_up(owner: Member, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(link_imports, "BATCH_SIZE", 3)
    link_import = upload(owner, "\n".join(f"{URL}/{n}" for n in range(7)))
    start(link_import)

    seen = []
    while link_imports.make_next():
        link_import.refresh_from_db()
        seen.append((link_import.made, link_import.percent, link_import.state))

    assert seen == [(3, 42, "running"), (6, 85, "running"), (7, 100, "done")]
    assert Link.objects.count() == 7


def test_death_before_a_commit_makes_nothing_twice(
    owner: Member, monkeypatch: pytest.MonkeyPatch
) -> None:
    link_import = upload(owner, f"{URL}/1\n{URL}/2")
    start(link_import)

    class Killed(BaseException):
        pass

    def die(*_args: object, **_kwargs: object) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(LinkImport, "progress", die)
        with pytest.raises(Killed):
            link_imports.make_next()
    assert not Link.objects.exists()

    assert make_all(link_import).made == 2
    assert Link.objects.count() == 2


@pytest.mark.django_db(transaction=True)
def test_parallel_workers_make_each_row_once(
    company: Company, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(link_imports, "BATCH_SIZE", 5)
    member = MemberFactory.create(company=company)
    link_import = upload(member, "\n".join(f"{URL}/{n}" for n in range(40)))
    start(link_import)

    while any(at_once([partial(link_imports.make_next)] * 3)):
        pass

    link_import.refresh_from_db()
    assert (link_import.state, link_import.made, Link.objects.count()) == ("done", 40, 40)


def test_suspended_company_stops_its_import(owner: Member) -> None:
    link_import = upload(owner, URL)
    start(link_import)
    Company.objects.update(status="suspended")

    make_all(link_import)

    assert (link_import.state, link_import.made) == ("stopped", 0)
    assert link_import.reason
    assert not Link.objects.exists()


def test_settings_of_the_moment_apply(owner: Member) -> None:
    link_import = upload(owner, f"{URL}\nhttps://other.example")
    start(link_import)
    Company.objects.update(link_targets=["other.example"])

    make_all(link_import)

    assert (link_import.made, link_import.refused) == (1, 1)
    assert Link.objects.get().url == "https://other.example"


def test_pending_company_may_only_test(owner: Member) -> None:
    Company.objects.update(status="pending")

    with pytest.raises(DomainError):
        upload(owner, URL)
    assert make_all(upload(owner, URL, mode="test")).made == 1


def test_upload_takes_the_same_queries_for_any_number_of_rows(
    owner: Member, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    upload(owner, URL)  # hosts and blocked sites are cached
    for count in (1, 3):
        with django_assert_num_queries(9):
            upload(owner, "\n".join([URL] * count))


def test_old_files_go_and_their_links_stay(owner: Member) -> None:
    link_import = make_all(upload(owner, URL))
    make_all(upload(owner, URL))
    running = upload(owner, URL)
    start(running)
    LinkImport.objects.update(
        created_at=timezone.now() - link_imports.RETENTION - timedelta(hours=1)
    )

    purges.purge()  # each has many rows, so one goes at a time, until all are gone

    assert list(LinkImport.objects.all()) == [running]
    assert Link.objects.filter(batch_id=link_import.id).count() == 1
    assert MAX_LINKS >= link_imports.BATCH_SIZE
