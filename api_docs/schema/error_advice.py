"""What each refusal means and what its reader can do about it."""

from dataclasses import dataclass

from config.errors import Error, Words


@dataclass(frozen=True, slots=True)
class Advice:
    when: Words
    do: Words
    retry: bool = False  # the same request may succeed later
    extra: tuple[str, ...] = ()  # fields of its own in the body
    sometimes: tuple[str, ...] = ()  # fields it has where they help


ADVICE: dict[Error, Advice] = {
    Error.INVALID_API_KEY: Advice(
        (
            "Ключа нет в запросе, он неизвестен, отозван или истёк. Ответ во всех случаях один.",
            "The key is missing, unknown, revoked or expired. The answer is the same in each case.",
        ),
        (
            "Передайте заголовок `Authorization: Bearer` и ключ целиком; проверьте, что ключ "
            "действует, в разделе «API-ключи».",
            "Send the header `Authorization: Bearer` with the whole key; under API keys you see "
            "whether it is active.",
        ),
    ),
    Error.INSUFFICIENT_TOKENS: Advice(
        (
            "На балансе меньше токенов, чем стоит отправка. Ничего не отправлено.",
            "The balance holds fewer tokens than the send costs. Nothing was sent.",
        ),
        (
            "Пополните баланс; `required` — сколько нужно, `available` — сколько есть. Сокращение "
            "ссылок и проверка кодов работают и с нулём.",
            "Top up; `required` is what the send needs, `available` what there is. Shortening "
            "links and verifying codes work at zero too.",
        ),
        extra=("required", "available"),
    ),
    Error.FORBIDDEN: Advice(
        (
            "Ключ верный, но действие ему не разрешено: нет права, чужой IP-адрес, компания "
            "приостановлена или ещё не одобрена, ссылку выключил оператор сервиса.",
            "The key is right, but may not do this: no scope, another IP address, the company is "
            "suspended or not yet approved, the link was disabled by the service's operator.",
        ),
        (
            "Причина написана в `message`. Права и список адресов меняются созданием нового ключа.",
            "`message` says which. Scopes and addresses are changed by making a new key.",
        ),
    ),
    Error.HTTPS_REQUIRED: Advice(
        (
            "Запрос пришёл по `http://`. Ничего не выполнено.",
            "The request came by `http://`. Nothing was done.",
        ),
        (
            "Обращайтесь по `https://`. Ключ, отправленный открытым текстом, отзовите и создайте "
            "новый.",
            "Use `https://`. Revoke the key that travelled in the clear and make a new one.",
        ),
    ),
    Error.NOT_FOUND: Advice(
        (
            "Такого пути нет, либо объект не существует, принадлежит другой компании или "
            "другому режиму ключа.",
            "There is no such path, or the object does not exist, belongs to another company or "
            "to the other mode.",
        ),
        (
            "Проверьте адрес и идентификатор: тестовый ключ не видит боевых объектов и наоборот.",
            "Check the path and the id: a test key does not see live objects, nor the reverse.",
        ),
    ),
    Error.METHOD_NOT_ALLOWED: Advice(
        (
            "Путь верный, но метод другой.",
            "The path is right, the method is not.",
        ),
        (
            "Допустимые методы перечислены в заголовке `Allow`.",
            "The header `Allow` lists the methods.",
        ),
    ),
    Error.REQUEST_TIMEOUT: Advice(
        (
            "Тело запроса не пришло целиком за отведённое время. Ничего не выполнено.",
            "The request body did not arrive in time. Nothing was done.",
        ),
        (
            "Отправьте запрос заново; соединение мы закрыли.",
            "Send the request again; we closed the connection.",
        ),
        retry=True,
    ),
    Error.REQUEST_IN_PROGRESS: Advice(
        (
            "Первый запрос с этим `Idempotency-Key` ещё выполняется.",
            "The first request with this `Idempotency-Key` is still running.",
        ),
        (
            "Повторите тот же запрос через `Retry-After` секунд: придёт ответ первого.",
            "Repeat the same request after `Retry-After` seconds to get the first one's answer.",
        ),
        retry=True,
        extra=("retry_after",),
    ),
    Error.UNSUPPORTED_MEDIA_TYPE: Advice(
        (
            "Тело отправлено не как JSON.",
            "The body was not sent as JSON.",
        ),
        (
            "Добавьте заголовок `Content-Type: application/json`.",
            "Add the header `Content-Type: application/json`.",
        ),
    ),
    Error.INVALID_INPUT: Advice(
        (
            "Поля не прошли проверку, или тело — не JSON.",
            "Fields are at fault, or the body is not JSON.",
        ),
        (
            "В `errors` перечислены все поля с ошибками сразу; исправьте их.",
            "`errors` lists all the fields at fault at once; mend them.",
        ),
        extra=("errors",),
    ),
    Error.INVALID_PHONE: Advice(
        (
            "Такого номера не может быть: не та длина или неизвестный код страны.",
            "No such number can exist: the length or the country code is wrong.",
        ),
        (
            "Попросите пользователя проверить номер. Попытка и токены не потрачены.",
            "Ask the user to check it. No attempt and no token was spent.",
        ),
    ),
    Error.COUNTRY_NOT_ALLOWED: Advice(
        (
            "Страны номера нет в списке разрешённых стран компании.",
            "The number's country is not on the company's list.",
        ),
        (
            "Добавьте страну в кабинете: «Настройки» → «Разрешённые страны»; действует через "
            "две секунды. Новая компания отправляет только в свою страну. Тестовые ключи этим не "
            "связаны.",
            "Add the country in the cabinet: Settings → Allowed countries; it takes two seconds. "
            "A new company sends to its own country only. Test keys are not held by it.",
        ),
        extra=("country",),
    ),
    Error.RECIPIENT_UNREACHABLE: Advice(
        (
            "В этом канале получателя нет: нет учётной записи, он отписался или номер "
            "заблокирован. Токены не списаны.",
            "The recipient is not there on this channel: no account, unsubscribed or blocked. "
            "Nothing was charged.",
        ),
        (
            "Повторите с другим `channel`: место в лимитах возвращается сразу. Если есть "
            "`action_url`, бот в Telegram ещё не может писать этому человеку: покажите ему эту "
            "ссылку, он нажмёт «Начать» и поделится номером.",
            "Try another channel: the place under the limits is given back at once. With "
            "`action_url` the Telegram bot may not write to this person yet: show them that link, "
            "they press Start and share their number.",
        ),
        extra=("id", "channel"),
        sometimes=("action_url",),
    ),
    Error.CHANNEL_UNAVAILABLE: Advice(
        (
            "Канал не подключён или сейчас отключён из-за сбоя у провайдера.",
            "The channel is not set up, or is off because its provider is failing.",
        ),
        (
            "Выберите другой канал; доступные перечислены в `GET /channels`.",
            "Choose another channel; `GET /channels` lists those available.",
        ),
        retry=True,
    ),
    Error.LINK_NOT_SUPPORTED: Advice(
        (
            "Названный канал не может передать ссылку.",
            "The channel you named cannot carry a link.",
        ),
        (
            "Не указывайте `channel`, и сервис выберет подходящий, или назовите другой.",
            "Leave `channel` out and the service chooses a capable one, or name another.",
        ),
    ),
    Error.URL_NOT_ALLOWED: Advice(
        (
            "Ссылка записана верно, но сокращать такую нельзя: IP-адрес, локальное имя, чужой "
            "сокращатель, похожие буквы, запрещённый сайт или сайт не из списка компании.",
            "The URL is well formed, but not one to shorten: an IP address, a local name, another "
            "shortener, look-alike letters, a blocked site, or one that the company's list of "
            "allowed sites does not have.",
        ),
        (
            "Причина написана в `message`; дайте ссылку на обычный сайт.",
            "`message` says why; give a URL of an ordinary site.",
        ),
        extra=("errors",),
    ),
    Error.ALIAS_TAKEN: Advice(
        (
            "Имя занято: регистр букв не важен, а имена удалённых ссылок освобождаются через "
            "90 дней.",
            "The alias is taken: case does not matter, and names of deleted links are free after "
            "90 days.",
        ),
        (
            "Возьмите другое имя или не указывайте `alias`.",
            "Choose another, or leave `alias` out.",
        ),
    ),
    Error.IDEMPOTENCY_MISMATCH: Advice(
        (
            "С этим `Idempotency-Key` уже был запрос с другим телом.",
            "This `Idempotency-Key` came before with another body.",
        ),
        (
            "Для каждого нового действия берите новый ключ.",
            "Use a new key for each new action.",
        ),
    ),
    Error.CODE_INVALID: Advice(
        (
            "Код не тот. Попытка потрачена.",
            "The code is wrong. An attempt was spent.",
        ),
        (
            "Предложите ввести ещё раз; `attempts_left` — сколько попыток осталось.",
            "Let the user try again; `attempts_left` says how many attempts remain.",
        ),
        extra=("attempts_left",),
    ),
    Error.CODE_EXPIRED: Advice(
        (
            "Время кода вышло.",
            "The code's time is over.",
        ),
        (
            "Отправьте новый код.",
            "Send a new code.",
        ),
    ),
    Error.CODE_USED: Advice(
        (
            "Этот код уже подошёл раньше, второй раз он не сработает.",
            "The code was accepted before; it does not work twice.",
        ),
        (
            "Если вход уже выполнен, ничего не делайте; иначе отправьте новый код.",
            "If the user is already in, do nothing; otherwise send a new code.",
        ),
    ),
    Error.CODE_NOT_FOUND: Advice(
        (
            "На этот номер с таким `purpose` код не отправлялся.",
            "No code with this purpose was sent to this number.",
        ),
        (
            "Сверьте `phone` и `purpose` с запросом, которым отправляли код.",
            "Compare `phone` and `purpose` with the request that sent the code.",
        ),
    ),
    Error.RESEND_TOO_SOON: Advice(
        (
            "С прошлой отправки на этот номер прошло слишком мало времени.",
            "Too little time has passed since the last send to this number.",
        ),
        (
            "Покажите обратный отсчёт на `retry_after` секунд. Прежний код ещё действует.",
            "Show a countdown of `retry_after` seconds. The earlier code still works.",
        ),
        retry=True,
        extra=("retry_after",),
    ),
    Error.SEND_LIMIT: Advice(
        (
            "На этот номер отправлено слишком много сообщений, или исчерпан бюджет компании на "
            "день либо на час для страны. Что именно, говорит `limit.kind`.",
            "Too many messages were sent to this number, or the company's budget for the day, or "
            "for an hour and country, is used up. `limit.kind` says which.",
        ),
        (
            "Повторите через `retry_after` секунд; числа — на странице «Лимиты». Бюджет владелец "
            "может поднять сразу: «Настройки» → «Бюджеты». Нет `retry_after` — бюджет меньше цены "
            "одного сообщения: ждать бесполезно, его нужно поднять. Если это не ваши отправки, "
            "отзовите ключ.",
            "Try again after `retry_after` seconds; the numbers are on the page about limits. An "
            "owner can raise a budget at once: Settings → Budgets. Without `retry_after` the "
            "budget is below the price of one message: it must be raised, waiting will not help. "
            "If the sends are not yours, revoke the key.",
        ),
        retry=True,
        extra=("limit", "retry_after"),
    ),
    Error.TOO_MANY_ATTEMPTS: Advice(
        (
            "Код вводили неверно слишком много раз. Дальше не подойдёт и верный.",
            "The code was entered wrongly too often. Not even the right one works now.",
        ),
        (
            "Отправьте новый код через `retry_after` секунд.",
            "Send a new code after `retry_after` seconds.",
        ),
        retry=True,
        extra=("retry_after",),
    ),
    Error.RATE_LIMITED: Advice(
        (
            "С этого ключа слишком много запросов.",
            "Too many requests came with this key.",
        ),
        (
            "Подождите `Retry-After` секунд; остаток виден в заголовке `RateLimit`.",
            "Wait for `Retry-After` seconds; the header `RateLimit` shows what is left.",
        ),
        retry=True,
        extra=("retry_after",),
    ),
    Error.INTERNAL_ERROR: Advice(
        (
            "Ошибка на нашей стороне.",
            "A fault on our side.",
        ),
        (
            "Повторите с тем же `Idempotency-Key`. Если не проходит, пришлите нам `request_id`.",
            "Repeat with the same `Idempotency-Key`. If it persists, send us the `request_id`.",
        ),
        retry=True,
    ),
    Error.DELIVERY_FAILED: Advice(
        (
            "Канал отказался принять сообщение по своей причине. Токены возвращены.",
            "The channel refused the message for a reason of its own. The tokens are returned.",
        ),
        (
            "Попробуйте другой `channel`. Подробности — в `GET /messages/{id}`.",
            "Try another channel. `GET /messages/{id}` tells more.",
        ),
        extra=("id", "channel"),
    ),
    Error.UNAVAILABLE: Advice(
        (
            "Нужная часть сервиса сейчас не отвечает.",
            "A part of the service that is needed does not answer now.",
        ),
        (
            "Повторите через `Retry-After` секунд с тем же `Idempotency-Key`.",
            "Repeat after `Retry-After` seconds with the same `Idempotency-Key`.",
        ),
        retry=True,
        extra=("retry_after",),
    ),
}
