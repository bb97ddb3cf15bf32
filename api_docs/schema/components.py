"""Converts declared fields to JSON Schema, with each object and each enumeration as a component."""

from typing import Any

from api.calls import Call, Field, Fields, Schema, Shape


def schema_of(field: Field) -> Schema:
    """The field's complete schema: its description, and nested objects inline."""
    schema = published(field.schema) | {"description": str(field.description)}
    if not field.fields:
        return schema
    inner = object_of(field.fields)
    return schema | ({"items": inner} if is_array(schema) else inner)


def object_of(fields: Fields) -> Schema:
    return object_with({field.name: schema_of(field) for field in fields}, fields)


def object_with(properties: dict[str, Schema], fields: Fields) -> Schema:
    required = [field.name for field in fields if field.required]
    schema: Schema = {"type": "object", "properties": properties}
    return schema | ({"required": required} if required else {})


def is_array(schema: Schema) -> bool:
    return "array" in schema.get("type", ())


def published(schema: Schema) -> Schema:
    """Removes `title`, and turns `nullable` into a union with null."""
    result = {name: value for name, value in schema.items() if name not in {"nullable", "title"}}
    if "items" in result:
        result["items"] = published(result["items"])
    return result | {"type": [result["type"], "null"]} if schema.get("nullable") else result


class Components:
    """Builds schemas that refer to components, and collects these components."""

    def __init__(self) -> None:
        self.schemas: dict[str, Schema] = {}

    def add(self, name: str, schema: Schema) -> Schema:
        """Adds a component and returns a reference to it; raises if the name has another schema."""
        if self.schemas.setdefault(name, schema) != schema:
            raise ValueError(f"two components are called {name}")
        return reference(name)

    def object_of(self, fields: Fields) -> Schema:
        if isinstance(fields, tuple):
            return object_with({field.name: self.property_of(field) for field in fields}, fields)
        own_schema = self.object_of(fields.own_fields)
        if fields.base is not None:
            own_schema = {"allOf": [self.object_of(fields.base), own_schema]}
        return self.add(fields.name, own_schema)

    def property_of(self, field: Field) -> Schema:
        schema = self.value_of(field.schema)
        if field.fields:
            inner = self.object_of(field.fields)
            schema = schema | {"items": inner} if is_array(schema) else inner
        return schema | {"description": str(field.description)}

    def value_of(self, schema: Schema) -> Schema:
        if "items" in schema:
            return published(schema) | {"items": self.value_of(schema["items"])}
        if "title" not in schema:
            return published(schema)
        values = [value for value in schema["enum"] if value is not None]
        reference = self.add(schema["title"], {"type": "string", "enum": values})
        return {"anyOf": [reference, {"type": "null"}]} if schema.get("nullable") else reference

    def request(self, call: Call) -> Schema:
        if isinstance(call.body, Shape):
            return self.object_of(call.body)
        name = f"{call.component_prefix}Request"
        if not call.one_of:
            return self.add(name, self.object_of(call.body))
        ways = [self._with_one_of(call, required) for required in call.one_of]
        return self.add(name, {"oneOf": ways})

    def _with_one_of(self, call: Call, required: str) -> Schema:
        """The body with `required` as the only one of the mutually exclusive fields."""
        fields = tuple(
            field.as_required() if field.name == required else field
            for field in call.body
            if field.name == required or field.name not in call.one_of
        )
        return self.add(
            f"{call.component_prefix}By{required.title()}Request", self.object_of(fields)
        )

    def response(self, call: Call) -> Schema:
        response = self.object_of(call.response)
        name = call.response.name if isinstance(call.response, Shape) else call.component_prefix
        return self.add(f"{name}Response", {"allOf": [reference("Envelope"), response]})


def reference(name: str) -> dict[str, Any]:
    return {"$ref": f"#/components/schemas/{name}"}
