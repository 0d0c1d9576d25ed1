"""The app: drop two files, see what was understood of them, align, and go on to report and review."""
