#!/bin/sh
# Run once by the image of PostgreSQL, when the database is made: the role of the application, which
# owns no table. `manage.py grant_privileges` gives it its rights after each migration.
set -eu
psql --set ON_ERROR_STOP=1 --set password="$POSTGRES_APP_PASSWORD" \
  --username "$POSTGRES_USER" --dbname "$POSTGRES_DB" <<'SQL'
CREATE ROLE kvitok_app LOGIN PASSWORD :'password';
SQL
