"""How much a worker process may use. Measured: docs/adr/0024-pages-are-parsed-in-worker-processes.md."""

import os
import sys
from pathlib import Path
from typing import Final

MEGABYTE: Final = 1024 * 1024

# Two processors parse at once at most; others wait for their turn as long as their call may take.
MAX_WORKERS: Final = 2
# A page of 10 MB needs up to 730 MB.
MAX_ADDRESS_SPACE: Final = 1024 * MEGABYTE
# A worker that keeps more than this after a page is replaced. A fresh one has 75 MB.
MAX_KEPT_MEMORY: Final = 200 * MEGABYTE
# A worker without work ends itself after this.
IDLE_SECONDS: Final = 60.0
# Loading the parsers takes half a second, and much longer on a busy machine.
START_SECONDS: Final = 60.0


def resident_bytes() -> int:
    """The memory that this process holds now; where the system does not tell, the most it ever held."""
    if sys.platform == "linux":
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    if sys.platform == "win32":
        return 0
    import resource  # noqa: PLC0415 - there is none on Windows

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
