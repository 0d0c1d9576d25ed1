"""The `dualmatch` command, and `python -m dualmatch`: ready for signals before anything heavy is imported."""

from dualmatch.cli import ending


def main() -> None:
    """Run the command line."""
    ending.prepare()
    from dualmatch.cli.main import main as run

    try:
        run()
    finally:
        ending.leave()


if __name__ == "__main__":
    main()
