"""SQL statements: their files, their execution, their parameters and rows."""
