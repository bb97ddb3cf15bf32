"""Changes of the schema beside running processes: operations of migrations, and their runs."""
