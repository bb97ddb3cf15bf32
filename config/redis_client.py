"""One small Redis client per process and purpose: quick to give up, never retrying."""

from functools import cache

import redis
from django.conf import settings
from redis.backoff import NoBackoff
from redis.retry import Retry


def _client(timeout: float | None, connect: float) -> redis.Redis:
    return redis.Redis.from_url(
        settings.REDIS_URL,
        socket_timeout=timeout,
        socket_connect_timeout=connect,
        retry=Retry(NoBackoff(), 0),
        health_check_interval=0,
    )


@cache
def redis_client() -> redis.Redis:
    """For the request path: an answer within 50 ms, or an error."""
    return _client(settings.REDIS_TIMEOUT, settings.REDIS_TIMEOUT)


@cache
def patient_redis() -> redis.Redis:
    """For background threads that block on a list or a subscription."""
    return _client(5.0, 0.3)
