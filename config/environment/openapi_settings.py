"""How drf-spectacular describes the API."""

from typing import Any

SPECTACULAR_SETTINGS: dict[str, Any] = {
    "TITLE": "Kvitok API",
    "VERSION": "1",
    "OAS_VERSION": "3.1.1",
    "LICENSE": {"name": "MIT", "identifier": "MIT"},
    "SCHEMA_PATH_PREFIX": "/api/v1",
    "SCHEMA_PATH_PREFIX_TRIM": True,
    "PREPROCESSING_HOOKS": ["api_docs.schema.schema.only_calls"],
    "POSTPROCESSING_HOOKS": ["api_docs.schema.schema.add_components"],
}
