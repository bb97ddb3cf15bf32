"""Every `ModelAdmin`, and their base classes; pages without a model are in the parent folder."""
