"""What changed for clients of the API, newest first: the source of the page with the changelog."""

from dataclasses import dataclass
from datetime import date
from itertools import groupby

from config.errors import Words


@dataclass(frozen=True, slots=True)
class Change:
    day: date
    words: Words


NOVEMBER_22 = date(2026, 11, 22)
CHANGES: tuple[Change, ...] = (
    Change(
        NOVEMBER_22,
        (
            "Отправка и проверка возвращают `phone` — номер, как его понял сервис. Без плюса "
            "десять цифр, начинающиеся с 9, у компаний из России и Казахстана читаются как `+7`.",
            "Sends and verifications answer with `phone`, the number as it was understood. Without "
            "a plus, ten digits that begin with 9 are `+7` to companies in Russia and Kazakhstan.",
        ),
    ),
    Change(
        NOVEMBER_22,
        (
            "Пока статус `queued`, в `message` стоит «Код поставлен в очередь», а не «отправлен».",
            "While the status is `queued`, `message` says that the code is queued, not sent.",
        ),
    ),
    Change(
        NOVEMBER_22,
        (
            "Неизвестный параметр в адресе списка — 422 `invalid_input`, а не молчаливый ответ без "
            "отбора.",
            "An unknown query parameter of a list is refused with 422 `invalid_input`; it was "
            "passed over, and everything came back.",
        ),
    ),
    Change(
        NOVEMBER_22,
        (
            "В событии `link.clicked` поле `clicks` — все переходы по ссылке, а `new_clicks` — "
            "переходы этого события.",
            "In the event `link.clicked`, `clicks` are all clicks of the link and `new_clicks` "
            "those of this event.",
        ),
    ),
    Change(
        NOVEMBER_22,
        (
            "Новая компания отправляет в свою страну, пока не добавит другие, и не больше "
            "бюджета на день и на страну: `country_not_allowed`, `send_limit` с полем `limit`.",
            "A new company sends to its own country until it adds others, and within budgets by "
            "day and by country: `country_not_allowed`, `send_limit` with the field `limit`.",
        ),
    ),
    Change(
        NOVEMBER_22,
        (
            "Неверные коды считаются по номеру, а не по назначению; сверх предела проверяется "
            "один код в час. Исчерпанный код сообщает, когда запросить новый.",
            "Wrong codes count by phone, not by purpose; past the cap one an hour is judged. An "
            "exhausted code says when to ask for a new one.",
        ),
    ),
    Change(
        NOVEMBER_22,
        (
            "Тестовые номера 0010–0014: очередь, `send_limit`, `too_many_attempts`, "
            "`channel_unavailable`, `country_not_allowed`.",
            "Test numbers 0010–0014: queued, `send_limit`, `too_many_attempts`, "
            "`channel_unavailable`, `country_not_allowed`.",
        ),
    ),
    Change(
        NOVEMBER_22,
        (
            "Адреса в `text` ссылки проверяются так же, как `url`; имена вроде `signin` и "
            "`support` заняты сервисом.",
            "Addresses in a link's `text` are judged like `url`; aliases such as `signin` and "
            "`support` are reserved.",
        ),
    ),
    Change(
        NOVEMBER_22,
        (
            "Схема — OpenAPI 3.1 с именованными компонентами и событиями вебхуков; `code` ошибок — "
            "открытое множество. Заголовки ответов описаны.",
            "The schema is OpenAPI 3.1 with named components and the events of webhooks; `code` of "
            "errors is an open set. The headers of answers are described.",
        ),
    ),
    Change(
        NOVEMBER_22,
        (
            "Пакет ссылок останавливается через `DELETE /batches/{id}` и открывается через "
            "`POST /batches/{id}/release`. Прежние адреса, `/links/batches/…`, тоже отвечают.",
            "A batch of links is stopped by `DELETE /batches/{id}` and released by "
            "`POST /batches/{id}/release`. The former paths, `/links/batches/…`, answer as well.",
        ),
    ),
    Change(
        NOVEMBER_22,
        (
            "В данных каждого события есть `test`; раньше его не было у `balance.low` и "
            "`top_up.paid`.",
            "The data of every event have `test`; `balance.low` and `top_up.paid` had none.",
        ),
    ),
    Change(
        NOVEMBER_22,
        (
            "У документации есть поиск, страницы в формате Markdown (`/docs/send-code.md`) и "
            "`/llms.txt`; язык выбирается и адресом: `?lang=ru`.",
            "The documentation has a search, pages in Markdown (`/docs/send-code.md`) and "
            "`/llms.txt`; an address chooses the language too: `?lang=en`.",
        ),
    ),
    Change(
        date(2026, 11, 20),
        (
            "Первая версия: коды, короткие ссылки, история, баланс и пополнение, вебхуки, тестовые "
            "ключи.",
            "The first version: codes, short links, history, balance and top-up, webhooks, test "
            "keys.",
        ),
    ),
)


def by_day() -> list[tuple[date, list[Words]]]:
    return [
        (day, [one.words for one in group])
        for day, group in groupby(CHANGES, key=lambda one: one.day)
    ]
