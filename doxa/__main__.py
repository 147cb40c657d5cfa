"""``python -m doxa`` is the ``doxa`` command."""

from doxa.adapters.cli import main

if __name__ == "__main__":
    main()
