"""`python -m ctxsync` is the `ctxsync` command."""

from ctxsync.cli import main

if __name__ == "__main__":
    main()
