#!/usr/bin/env python
"""Django's command line."""

import os
import sys

from django.core.exceptions import ImproperlyConfigured
from django.core.management import execute_from_command_line
from django.db.utils import OperationalError

from config.local.demo_environment import load_running

if __name__ == "__main__":
    load_running()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    try:
        "".join(sys.argv).encode()  # raises for an argument that is not UTF-8
        execute_from_command_line(sys.argv)
    except (UnicodeDecodeError, UnicodeEncodeError) as error:
        sys.exit(f"An argument or another input is not UTF-8 ({error}).")
    except OperationalError as error:
        sys.exit(f"The database does not answer ({error}). Is the service running: make run?")
    except ImproperlyConfigured as error:
        sys.exit(f"The settings refuse to start: {error}")
