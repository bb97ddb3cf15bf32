"""Changes of the schema under running processes: operations of migrations, and their runs."""
