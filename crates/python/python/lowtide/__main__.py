"""The command `lowtide` of the package: `python -m lowtide`, and the script of that name."""

from __future__ import annotations

import os
import shutil
import signal
import sys

from . import _lowtide


def main() -> int:
    """Runs the command with the arguments of the process and returns its exit status."""
    # Python would handle Ctrl-C only after the command has returned.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return _lowtide.main(_program(), sys.argv[1:])


def _program() -> str:
    """Returns the path of the script, which starts the command again in another process."""
    script = shutil.which(sys.argv[0])
    if script is None:
        # `python -m lowtide`: the script is beside the interpreter.
        script = os.path.join(os.path.dirname(sys.executable), "lowtide")
    return os.path.abspath(script)


if __name__ == "__main__":
    sys.exit(main())
