"""The review page: doubtful pairs side by side, decided one by one."""
