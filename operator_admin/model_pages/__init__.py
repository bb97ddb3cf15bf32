"""Every `ModelAdmin`, and their base classes; pages of no model are next to this folder."""
