"""``python -m nsl_bench`` is ``nsl-bench``."""

import signal

from nsl_bench.core.interrupts import end_at_once


def main() -> None:
    """Run the program; Ctrl-C during its first imports ends it without a traceback, too."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, end_at_once)
    from nsl_bench.cli import run

    run()


if __name__ == "__main__":
    main()
