"""`python -m dualmatch`: the same as the `dualmatch` command."""

from dualmatch.cli.main import main

if __name__ == "__main__":
    main()
