"""The settings, read by a separate process."""

import os
import subprocess
import sys

from config.environment.variables import ROOT

SECRET = "s3cret" * 6
GOOD = {
    "PATH": os.environ["PATH"],
    "ENVIRONMENT": "test",
    "SECRET_KEY": "a" * 60,
    "OTP_KEYS": f"k1:{SECRET}",
    "MFA_KEYS": f"k1:{SECRET}",
    "DATABASE_URL": "postgresql:///none",
    "REDIS_URL": "redis://127.0.0.1:1",
}


def start(**changes: str) -> subprocess.CompletedProcess[str]:
    code = "import django; django.setup()"
    env = GOOD | {"DJANGO_SETTINGS_MODULE": "config.settings"} | changes
    return subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env=env, text=True, capture_output=True, check=False
    )
