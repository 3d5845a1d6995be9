"""``python -m nbfn``: the command line."""

from nbfn.command.main import main

if __name__ == "__main__":
    main()
