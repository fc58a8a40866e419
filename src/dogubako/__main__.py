"""`dogubako`, also as `python -m dogubako`."""

import gc

# Imports create no garbage; collecting meanwhile would take a tenth of the start time.
gc.disable()

from dogubako.cli import app  # noqa: E402
from dogubako.signals import hangup  # noqa: E402

gc.freeze()
gc.enable()


def main() -> None:
    hangup.install()
    app(prog_name="dogubako")


if __name__ == "__main__":
    main()
