"""A readable device name from a User-Agent, enough to recognise one's own device."""

# First match wins: most browsers also claim to be Chrome and Safari.
BROWSERS = (
    ("YaBrowser/", "Yandex Browser"),
    ("Edg/", "Edge"),
    ("EdgA/", "Edge"),
    ("OPR/", "Opera"),
    ("SamsungBrowser/", "Samsung Internet"),
    ("Firefox/", "Firefox"),
    ("FxiOS/", "Firefox"),
    ("CriOS/", "Chrome"),
    ("Chrome/", "Chrome"),
    ("Safari/", "Safari"),
)
SYSTEMS = (
    ("iPhone", "iPhone"),
    ("iPad", "iPad"),
    ("Android", "Android"),
    ("Windows", "Windows"),
    ("CrOS", "ChromeOS"),
    ("Mac OS X", "macOS"),
    ("Linux", "Linux"),
)


def device_name(user_agent: str) -> str:
    """“Firefox, Windows”; empty when neither is known."""
    names = (_first(BROWSERS, user_agent), _first(SYSTEMS, user_agent))
    return ", ".join(filter(None, names))


def _first(table: tuple[tuple[str, str], ...], text: str) -> str:
    return next((name for mark, name in table if mark in text), "")
