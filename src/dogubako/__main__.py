"""`dogubako`, also as `python -m dogubako`."""

import gc

# Nothing that is imported becomes garbage; collecting meanwhile would cost a tenth of the start.
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
