"""Celery tasks that read the stream of clicks, and maintain ClickHouse."""

import structlog
from celery import shared_task
from redis.exceptions import RedisError

from links.clicks import clickhouse_sink, clickhouse_tables, counting, delivery_proof, webhooks
from links.clicks.stream import READ_COUNT
from storage import clickhouse

log = structlog.get_logger(__name__)


@shared_task(name="links.append_click_events")
def append_click_events() -> None:
    while webhooks.append_click_events() == READ_COUNT:
        pass


@shared_task(name="links.prove_clicks")
def prove_clicks() -> None:
    while delivery_proof.prove_clicks() == READ_COUNT:
        pass


@shared_task(name="links.count_clicks")
def count_clicks() -> None:
    while counting.count_clicks() == READ_COUNT:
        pass


@shared_task(name="links.write_clicks_to_clickhouse")
def write_clicks_to_clickhouse() -> None:
    if not clickhouse.is_configured():
        return
    try:
        while clickhouse_sink.write_clicks() == READ_COUNT:
            pass
    except (clickhouse.ClickHouseError, RedisError, OSError) as error:
        log.warning("clickhouse_not_written", error=f"{type(error).__name__}: {error}")


@shared_task(name="links.maintain_clickhouse")
def maintain_clickhouse() -> None:
    if not clickhouse.is_configured():
        return
    try:
        clickhouse_tables.drop_old_months()
        clickhouse_sink.erase()
    except clickhouse.ClickHouseError as error:
        log.warning("clickhouse_not_maintained", error=f"{type(error).__name__}: {error}")
