"""The server of the app: as that of a review, with the children that it has begun."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dualmatch.app.child import Children
from dualmatch.app.workspace import Workspace
from dualmatch.review.serve import Endpoint, LocalServer

if TYPE_CHECKING:
    from starlette.types import ASGIApp


class AppServer(LocalServer):
    """Serves the pages of a workspace.

    `most`: bytes that a file may have.
    """

    def __init__(self, workspace: Workspace, endpoint: Endpoint, most: int) -> None:
        self.workspace, self.children, self._most = workspace, Children(), most
        super().__init__(self._pages, endpoint)

    def _pages(self) -> ASGIApp:
        from dualmatch.app.pages import app_pages
        from dualmatch.app.reviews import Reviews

        self.reviews = Reviews(self.workspace)
        return app_pages(self.workspace, self.children, self.reviews, self._most)

    def run(self) -> None:
        try:
            super().run()
        finally:
            self.children.end_all()
