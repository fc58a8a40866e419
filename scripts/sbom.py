"""Write a CycloneDX SBOM of the locked packages: `scripts/sbom.py [FILE]`.

The same lock gives the same bytes. With SOURCE_DATE_EPOCH the file has that time in it, without it none.
"""

import subprocess
import sys
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent
DEFAULT: Final = ROOT / "dist" / "dogubako.cdx.json"


def main() -> int:
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else DEFAULT
    target.parent.mkdir(parents=True, exist_ok=True)
    # A lock does not say who needs whom; the tool would warn about that.
    command = [sys.executable, "-W", "ignore", "-m", "cyclonedx_py", "requirements", str(ROOT / "requirements.lock")]
    options = ["--pyproject", str(ROOT / "pyproject.toml"), "--output-reproducible", "--of", "JSON", "-o", str(target)]
    code = subprocess.run([*command, *options], check=False).returncode
    if code == 0:
        print(f"wrote {target}")
    return code


if __name__ == "__main__":
    raise SystemExit(main())
