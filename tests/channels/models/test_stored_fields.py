"""Fields that are stored as columns have an index."""

import pytest
from django.db.models import CharField

from channels.models import Message, stored_fields
from channels.models.stored_fields import StoredField


@pytest.mark.parametrize("field", stored_fields.FIELDS, ids=lambda field: field.name)
def test_stored_field_is_a_column_with_an_index(field: StoredField) -> None:
    column = Message._meta.get_field(field.name)
    assert isinstance(column, CharField)
    indexes = [index.fields for index in Message._meta.indexes]

    assert {field.sent.name, field.shown.name, field.filter.name} == {field.name}
    assert field.sent.schema["maxLength"] == field.filter.schema["maxLength"] == column.max_length
    assert ["company", "mode", field.name, "created_at", "id"] in indexes
