"""The app: drop two files, see what was understood of them, align, and continue to report and review."""
