"""``python -m cospace``: the command line."""

from cospace.cli import main

if __name__ == "__main__":
    main()
