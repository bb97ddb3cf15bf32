"""A copy of the clicks in ClickHouse, where CLICKHOUSE_URL is set; PostgreSQL stays the truth."""
