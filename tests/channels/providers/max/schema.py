"""The schema of our bodies by MAX, version 0.0.33 (github.com/max-messenger/api-schema).

Types, required and nullable fields and lengths as there. Real updates leave out some of the
required fields; ours and the simulator's may not.
"""

from typing import Any

from jsonschema import Draft202012Validator

Json = dict[str, Any]
INT = {"type": "integer"}
TEXT = {"type": "string"}
YES_NO = {"type": "boolean"}


def nullable(schema: Json) -> Json:
    return {"anyOf": [schema, {"type": "null"}]}


def record(required: Json, **optional: Json) -> Json:
    properties = required | optional
    return {"type": "object", "properties": properties, "required": list(required)}


def array(items: Json, **bounds: int | bool) -> Json:
    return {"type": "array", "items": items, **bounds}


def text(least: int, most: int) -> Json:
    return {"type": "string", "minLength": least, "maxLength": most}


def one_of(*words: str) -> Json:
    return {"enum": list(words)}


def button(kind: str, **fields: Json) -> Json:
    """With no field that the type does not have: the schema's types are told apart by `type`."""
    needed = {"type": one_of(kind), "text": text(1, 128), **fields}
    return record(needed) | {"additionalProperties": False}


BUTTON = {
    "oneOf": [
        button("clipboard", payload=text(0, 1024)),
        button("link", url=text(0, 2048)),
        button("request_contact"),
    ]
}
KEYBOARD = record(
    {
        "type": one_of("inline_keyboard"),
        "payload": record({"buttons": array(array(BUTTON), minItems=1)}),
    }
)
NEW_MESSAGE = record(
    {},
    text=nullable(text(0, 4000)),
    attachments=nullable(array(KEYBOARD)),
    notify=YES_NO,
    format=nullable(one_of("markdown", "html")),
) | {"additionalProperties": False}
USER = record(
    {"user_id": INT, "first_name": TEXT, "is_bot": YES_NO},
    last_name=nullable(TEXT),
    username=nullable(TEXT),
    last_activity_time=nullable(INT),
)
CONTACT = record(
    {
        "type": one_of("contact"),
        "payload": record(
            {}, vcf_info=nullable(TEXT), hash=nullable(TEXT), max_info=nullable(USER)
        ),
    }
)
RECIPIENT = record(
    {"chat_type": one_of("dialog", "chat", "channel")},
    chat_id=nullable(INT),
    user_id=nullable(INT),
)
BODY = record(
    {"mid": text(1, 1000), "seq": INT},
    text=nullable(TEXT),
    attachments=nullable(array({"anyOf": [CONTACT, KEYBOARD]})),
)
MESSAGE = record(
    {"recipient": RECIPIENT, "timestamp": INT, "body": BODY},
    sender=nullable(USER),
    link=nullable({"type": "object"}),
)
SENT = record({"message": MESSAGE})
ERROR = record({"code": TEXT, "message": TEXT}, error=TEXT)
RESULT = record({"success": YES_NO}, message=TEXT)
TYPES = nullable(array(text(1, 100), uniqueItems=True))
SUBSCRIPTIONS = record(
    {"subscriptions": array(record({"url": TEXT, "time": INT}, update_types=TYPES))}
)
SUBSCRIPTION = record(
    {"url": {"type": "string", "pattern": "^https?://"}},  # http: the tests' own loopback
    secret=text(5, 256) | {"pattern": r"^[\w-]+$"},
    update_types=array(TEXT, uniqueItems=True),
) | {"additionalProperties": False}


def update(kind: str, required: Json, **optional: Json) -> Json:
    return record({"update_type": one_of(kind), "timestamp": INT, **required}, **optional)


IN_DIALOG = {"chat_id": INT, "user": USER}
UPDATE = {
    "oneOf": [
        update("message_created", {"message": MESSAGE}, user_locale=nullable(TEXT)),
        update("bot_started", IN_DIALOG, payload=nullable(text(0, 512)), user_locale=TEXT),
        update("bot_stopped", IN_DIALOG, user_locale=TEXT),
        update("dialog_removed", IN_DIALOG, user_locale=TEXT),
    ]
}


def judge(schema: Json, body: object) -> None:
    Draft202012Validator(schema).validate(body)
