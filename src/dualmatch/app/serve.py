"""The server of the app: as that of a review, with the children that it has begun."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dualmatch.app.child import Children
from dualmatch.app.workspace import Workspace
from dualmatch.review.serve import Endpoint, LocalServer

if TYPE_CHECKING:
    from starlette.types import ASGIApp


class AppServer(LocalServer):
    """Serves the pages of a workspace.

    `most`: bytes that a file may have. `reviewer`, `show_labels`: as in `dualmatch.review.serve.open_session`.
    """

    def __init__(
        self,
        workspace: Workspace,
        endpoint: Endpoint,
        most: int,
        reviewer: str | None = None,
        show_labels: Sequence[Path] = (),
    ) -> None:
        self.workspace, self.children, self._most = workspace, Children(), most
        self._reviewer, self._labels = reviewer, show_labels
        super().__init__(self._pages, endpoint)

    def _pages(self) -> ASGIApp:
        from dualmatch.app.pages import app_pages
        from dualmatch.app.pair_results import Results, Reviews

        self.reviews = Reviews(self.workspace, self._reviewer, self._labels)
        self.results = Results(self._labels)
        return app_pages(self.workspace, self.children, self.reviews, self.results, self._most)

    def run(self) -> None:
        try:
            super().run()
        finally:
            self.children.end_all()
