"""What this process knows of slugs, for a second; concurrent misses of a slug share one load."""

from config.storage.process_cache import KeyedCache
from links.follow.cached_row import Resolution

TTL = 1.0  # seconds
MAX_SLUGS = 50_000

SlugKey = str | tuple[int, str]  # a slug of our own host, or of a company's


class SlugCache(KeyedCache[SlugKey, Resolution]):
    def __init__(self) -> None:
        super().__init__(TTL, MAX_SLUGS)
