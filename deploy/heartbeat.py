"""For health checks of a container: has its process written its heartbeat within a minute?

    python deploy/heartbeat.py delivery

Also succeeds while PostgreSQL does not respond: restarting the process would not help.
"""

import os
import socket
import sys
from pathlib import Path

import psycopg

MAX_AGE = 60  # seconds
_QUERY = """
SELECT EXISTS (SELECT FROM channels_heartbeat
  WHERE (process = %(kind)s OR starts_with(process, %(process)s))
    AND at > now() - make_interval(secs => %(seconds)s))
"""


def is_alive(kind: str) -> bool:
    """The beat has one row for the service, the others one for each process."""
    url = os.environ.get("DATABASE_URL")
    url = url or Path(os.environ["DATABASE_URL_FILE"]).read_text("utf-8-sig")
    params = {"kind": kind, "process": f"{kind} {socket.gethostname()} ", "seconds": MAX_AGE}
    try:
        with psycopg.connect(url.strip(), connect_timeout=3) as connection:
            row = connection.execute(_QUERY, params).fetchone()
    except psycopg.OperationalError as error:
        sys.stderr.write(f"{error}\n")
        return True
    return bool(row and row[0])


if __name__ == "__main__":
    sys.exit(0 if is_alive(sys.argv[1]) else 1)
