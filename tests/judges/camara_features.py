"""CAMARA's own .feature files by behave, against the running service.

`camara_features.py ADDRESS KEY READER BLOCKED EXPIRED DIRECTORY`

ADDRESS is the dialect's, KEY a test key for clients, READER an ordinary test key that reads what
phones show, BLOCKED a number that asked to get nothing, EXPIRED a token that is over, DIRECTORY
where the standard's YAML and its two .feature files are (tag r3.2). Prints behave's summary.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from urllib.parse import urlsplit

# Needs the network of the operator whose number it is.
LEFT_OUT = "OTPvalidationAPI_404.1_send_code_phone_number_not_belong_to_operator"

address, key, reader, blocked, expired, directory = sys.argv[1:7]
site = "{0.scheme}://{0.netloc}".format(urlsplit(address))
with tempfile.TemporaryDirectory() as folder:
    (steps := Path(folder, "steps")).mkdir()
    shutil.copy(Path(__file__).with_name("camara_steps.py"), steps)
    for feature in Path(directory).glob("*.feature"):
        shutil.copy(feature, folder)
    environ = {
        "CAMARA_URL": address,
        "CAMARA_YAML": str(Path(directory, "one-time-password-sms.yaml").resolve()),
        "VERIFY_KEY": key,
        "TEST_KEY": reader,
        "API_URL": f"{site}/api/v1",
        "BLOCKED_PHONE": blocked,
        "EXPIRED_TOKEN": expired,
    }
    behave = [sys.executable, "-m", "behave", "--no-capture", "--format", "progress3"]
    behave += [f"--tags=not @{LEFT_OUT}", folder]
    sys.exit(subprocess.run(behave, env=os.environ | environ, check=False).returncode)
