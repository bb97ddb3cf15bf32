"""Turns declared fields into JSON Schema."""

from accounts.api.fields import Field, Fields, Schema


def schema_of(field: Field) -> Schema:
    """The field's schema with its description, whole: nested objects stand in it."""
    schema = published(field.schema) | {"description": str(field.description)}
    if not field.fields:
        return schema
    inner = object_of(field.fields)
    return schema | ({"items": inner} if is_array(schema) else inner)


def object_of(fields: Fields) -> Schema:
    return object_with({one.name: schema_of(one) for one in fields}, fields)


def object_with(properties: dict[str, Schema], fields: Fields) -> Schema:
    required = [field.name for field in fields if field.required]
    schema: Schema = {"type": "object", "properties": properties}
    return schema | ({"required": required} if required else {})


def is_array(schema: Schema) -> bool:
    return "array" in schema.get("type", ())


def published(schema: Schema) -> Schema:
    """The schema without our two additions."""
    made = {name: one for name, one in schema.items() if name not in {"nullable", "title"}}
    if "items" in made:
        made["items"] = published(made["items"])
    return made | {"type": [made["type"], "null"]} if schema.get("nullable") else made
