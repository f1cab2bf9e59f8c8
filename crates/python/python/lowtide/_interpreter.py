"""Refuses interpreters that the native part does not support, before it is loaded."""

import sys

if "free-threading" in sys.version:
    raise ImportError(
        "lowtide does not support free-threaded Python (3.13t, 3.14t): "
        "use the build of Python with the GIL"
    )
