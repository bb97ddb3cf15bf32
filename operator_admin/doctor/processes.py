"""Checks of the background processes, the broker and the static files."""

import json
import uuid
from queue import Empty

from celery import current_app
from django.conf import settings
from django.contrib.staticfiles import finders
from django.contrib.staticfiles.storage import ManifestFilesMixin
from django.utils.translation import gettext as _
from kombu.exceptions import OperationalError
from redis.exceptions import RedisError

from channels.vendor_accounts import error_texts, registry
from operator_admin import figures
from operator_admin.doctor.finding import Finding, failed, finding, passed

TIMEOUT = 3  # seconds


def broker() -> Finding:
    """Sends a message through a temporary queue and reads it back."""
    name = f"doctor.{uuid.uuid4().hex}"
    token = uuid.uuid4().hex
    options = {"auto_delete": True, "durable": False, "expires": 60}
    remedy = _(
        "Start the broker, or fix CELERY_BROKER_URL (by default it is REDIS_URL). "
        "Messages and webhooks go out without it; e-mails and clicks wait."
    )
    try:
        with current_app.connection_for_write(connect_timeout=TIMEOUT) as connection:
            connection.ensure_connection(max_retries=1, timeout=TIMEOUT)
            with connection.SimpleQueue(name, queue_opts=options) as queue:
                queue.put(token)
                message = queue.get(timeout=TIMEOUT)
                message.ack()
                is_back = message.payload == token
                queue.queue.delete()
    except (OperationalError, RedisError, OSError, Empty) as error:
        return failed("broker", type(error).__name__, remedy)
    return finding("broker", _("a message went out and came back"), remedy, ok=is_back)


def web() -> Finding:
    remedy = _("Start the web process (systemctl start kvitok-web) and read its log.")
    return _heartbeat("web", "web", remedy)


def worker() -> Finding:
    remedy = _(
        "Start a worker (systemctl start kvitok-worker). If it runs, its delivery loop is "
        "stuck: look for `dispatch_failed` in its log, and restart it; nothing is lost."
    )
    return _heartbeat("delivery", "worker", remedy)


def beat() -> Finding:
    remedy = _(
        "Start the beat (systemctl start kvitok-beat): exactly one. If it runs, its ticks "
        "do not arrive: see `broker` and `worker`."
    )
    return _heartbeat("beat", "beat", remedy)


def _heartbeat(kind: str, name: str, remedy: str) -> Finding:
    ages = [heartbeat.age for heartbeat in figures.heartbeats(kind)]
    alive = [age for age in ages if age <= figures.ALIVE_SECONDS]
    if alive:
        return passed(
            name,
            _("{count} alive, last heartbeat {seconds:.0f} s ago").format(
                count=len(alive), seconds=min(alive)
            ),
        )
    detail = (
        _("last heartbeat {seconds:.0f} s ago").format(seconds=min(ages))
        if ages
        else _("no heartbeat yet")
    )
    return failed(name, detail, remedy)


def binds() -> list[Finding]:
    """Checks accounts with their own processes by their heartbeats."""
    return [_bind(name, figures.heartbeats(name)) for name in registry.hosted_providers()]


def _bind(name: str, heartbeats: list[figures.Heartbeat]) -> Finding:
    title = error_texts.PROVIDERS[name]
    alive = [heartbeat for heartbeat in heartbeats if heartbeat.is_alive]
    unit = "kvitok-" + name.replace(":", "@")
    if not alive:
        remedy = _(
            "Start its process (systemctl start {unit}); its messages wait meanwhile."
        ).format(unit=unit)
        return failed(title, _("no heartbeat from its process"), remedy)
    details = alive[0].details
    remedy = _(
        "Read the log of {unit}: it says why the SMS centre refuses the bind. Compare SMPP_URL "
        "with what the vendor gave you."
    ).format(unit=unit)
    detail = _("bound, {unanswered} of {window} under way").format(
        unanswered=details.get("unanswered", 0), window=details.get("window", 0)
    )
    is_bound = bool(details.get("bound"))
    return finding(title, detail if is_bound else _("not bound"), remedy, ok=is_bound)


def translations() -> Finding:
    sources = list(settings.LOCALE_PATHS[0].glob("*/LC_MESSAGES/django.po"))
    missing = [path.parts[-3] for path in sources if not path.with_suffix(".mo").exists()]
    remedy = _("Run: pybabel compile -d locale -D django, and restart every process.")
    detail = (
        _("not compiled: {names}").format(names=", ".join(missing))
        if missing
        else _("{count} compiled").format(count=len(sources))
    )
    return finding("translations", detail, remedy, ok=not missing)


def static_files() -> Finding:
    """Checks the manifest of static files in production; elsewhere the finders serve them."""
    static_file = "favicon.svg"
    remedy = _("Run: python manage.py collectstatic --noinput, and restart the web process.")
    if settings.WHITENOISE_USE_FINDERS:
        is_found = finders.find(static_file) is not None
        return finding("static files", _("served from their sources"), remedy, ok=is_found)
    path = settings.STATIC_ROOT / ManifestFilesMixin.manifest_name
    try:
        paths = json.loads(path.read_text(encoding="utf-8"))["paths"]
    except (OSError, ValueError, KeyError):
        return failed(
            "static files",
            _("no manifest in {static_root}").format(static_root=settings.STATIC_ROOT),
            remedy,
        )
    detail = _("{count} collected").format(count=len(paths))
    return finding("static files", detail, remedy, ok=static_file in paths)
