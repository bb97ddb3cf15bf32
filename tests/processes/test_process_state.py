import subprocess
import sys

FORK = """
import os
from processes.process_state import on_reset

remembered = ["value"]
on_reset(remembered.clear)
child = os.fork()
if child:
    _pid, status = os.waitpid(child, 0)
    print(len(remembered), os.waitstatus_to_exitcode(status))
else:
    os._exit(len(remembered))
"""


def test_forked_child_has_forgotten_what_its_parent_remembers() -> None:
    done = subprocess.run(
        [sys.executable, "-c", FORK], capture_output=True, check=True, text=True, timeout=30
    )

    assert done.stdout == "1 0\n"
