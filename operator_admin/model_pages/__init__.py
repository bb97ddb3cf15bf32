"""Every `ModelAdmin`, and their base classes; pages of no model are beside this folder."""
