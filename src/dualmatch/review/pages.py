"""What the pages show: from row numbers to names, words and markup."""

from __future__ import annotations

import re
from typing import Any, Final

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined

from dualmatch.charts.markup import Html, el, name_of, visible
from dualmatch.decode.verdicts import Verdict
from dualmatch.links.decisions import EntityDecision
from dualmatch.review.again import Again
from dualmatch.review.export import EXPORTS
from dualmatch.review.pair import candidates_of
from dualmatch.review.queue import VERDICTS
from dualmatch.review.session import CONFIDENCES, STATUSES, Filter, Session
from dualmatch.review.timeline import timeline

PER_PAGE: Final = 50
_MOST_CHANGES: Final = 200
_MOST_FOUND: Final = 12
_WEB: Final = re.compile(r"https?://[^\s<>\"'\\^`{|}]{1,2000}\Z", re.IGNORECASE | re.ASCII)
_STAGES: Final = {
    "evidence": "weighing shared evidence",
    "decode": "matching",
    "temporal": "encoding times",
    "reasons": "preparing the reasons",
}


def linked(name: str) -> Html:
    """A name; one that is an address of the web is a link to it, anything else is not.

    >>> "href" in linked("http://example.org/Ada"), "href" in linked("javascript:alert(1)")
    (True, False)
    """
    if not _WEB.match(name) or visible(name, 3000) != name:
        return name_of(name)
    return el("a", name_of(name), href=name, rel="noopener noreferrer nofollow", target="_blank")


class Pages:
    """Renders one session's pages."""

    def __init__(self, session: Session, again: Again) -> None:
        self.session, self.run_again = session, again
        self._templates = Environment(
            loader=PackageLoader("dualmatch.review"), autoescape=True, undefined=StrictUndefined, trim_blocks=True
        )
        self._templates.globals.update(name=name_of, linked=linked, exports=[*EXPORTS])
        for each in self._templates.list_templates():
            self._templates.get_template(each)  # compiled now, so that no page waits for it

    def queue(self, wanted: Filter, page: int) -> str:
        session, grounds = self.session, self.session.run.grounds
        rows = session.rows(wanted)
        pages = max(1, -(-len(rows) // PER_PAGE))
        page = min(page, pages)
        queue, status = session.queue, session.statuses(session.log.state)
        lines = [
            {
                "row": row,
                "source": grounds.source.entities[row],
                "target": grounds.target.entities[proposed] if (proposed := int(queue.proposed[row])) >= 0 else None,
                "probability": float(queue.probability[row]),
                "verdict": VERDICTS[queue.verdict[row]],
                "status": STATUSES[status[row]],
            }
            for row in rows[(page - 1) * PER_PAGE : page * PER_PAGE].tolist()
        ]
        return self._render(
            "queue.html",
            wanted,
            lines=lines,
            total=len(rows),
            page=page,
            pages=pages,
            outcomes=("all", *VERDICTS),
            confidences=CONFIDENCES,
            statuses=(*STATUSES, "all"),
            relations=session.common_relations,
        )

    def pair(self, source: int, target: int | None, wanted: Filter, find: str) -> str:
        session, grounds = self.session, self.session.run.grounds
        names = grounds.target.entities
        proposed = int(session.queue.proposed[source])
        shown = target if target is not None else proposed if proposed >= 0 else None
        view = session.view(source, shown)
        standing = session.log.state.of(grounds.source.entities[source])
        found = session.queue.targets(find, _MOST_FOUND) if find.strip() else []
        holder = None if shown is None else session.log.state.holder.get(names[shown])
        return self._render(
            "pair.html",
            wanted,
            source=source,
            source_name=grounds.source.entities[source],
            target=shown,
            target_name=None if shown is None else names[shown],
            is_proposed=shown == proposed,
            outcome=self._outcome(source),
            is_rejected=shown is not None and names[shown] in standing.rejected,
            held_by=holder if holder != grounds.source.entities[source] else None,
            view=view,
            timeline=timeline(view),
            has_reasons=view.log_odds is not None,
            candidates=candidates_of(grounds, source),
            standing=standing,
            standing_words=_words(standing),
            find=find,
            found=[(row, names[row]) for row in found],
            next=session.after(source, wanted),
            visible=visible,
        )

    def _outcome(self, source: int) -> str:
        """What the run says of an entity, in words."""
        queue, grounds = self.session.queue, self.session.run.grounds
        verdict = VERDICTS[queue.verdict[source]]
        if verdict is Verdict.LINKED:
            partner = grounds.target.entities[int(queue.proposed[source])]
            return f"Linked with {visible(partner)}, confidence {queue.probability[source]:.3f}"
        none = grounds.unlinked
        at = int(np.searchsorted(none.row, source))
        sure = f" (confidence {none.confidence[at]:.3f})" if verdict is Verdict.NO_MATCH else ""
        return f"{verdict.capitalize()}{sure}: {visible(none.in_words(at, grounds.target.entities), 400)}"

    def again(self, wanted: Filter) -> str:
        run, names = self.run_again, self.session.run.grounds
        changes = [
            {
                "kind": change.kind,
                "row": change.source,
                "source": names.source.entities[change.source],
                "before": None if change.before is None else names.target.entities[change.before],
                "after": None if change.after is None else names.target.entities[change.after],
                "confidence": change.confidence,
                "by_decision": change.by_decision,
            }
            for change in run.changes[:_MOST_CHANGES]
        ]
        more = max(0, len(run.changes) - len(changes))
        words = self.progress_words()
        return self._render("again.html", wanted, run=run, changes=changes, more=more, words=words)

    def progress_words(self) -> str:
        """How far the run in the background is."""
        run = self.run_again
        if run.state == "running":
            stage = _STAGES.get(run.stage, run.stage or "beginning")
            return f"Aligning again: {stage}" + (f", step {run.done + 1} of at most {run.total}" if run.total else "")
        return {"idle": "No run yet.", "done": f"Done: {run.words}", "failed": f"It failed: {run.words}"}[run.state]

    def message(self, words: str) -> str:
        return self._render("message.html", Filter(), words=visible(words, 400))

    def _render(self, template: str, wanted: Filter, **values: Any) -> str:
        session = self.session
        last = session.log.state.last_live
        decided, entities = session.decided, session.run.grounds.source.n_entities
        return self._templates.get_template(template).render(
            filter=wanted,
            query=wanted.query,
            decided=decided,
            entities=entities,
            last=last,
            last_name=None if last is None else last[1],
            last_words="" if last is None else _words(session.log.state.of(last[1])),
            **values,
        )


def _words(standing: EntityDecision) -> str:
    """What stands of an entity, in words."""
    if standing.partner is not None:
        return f"accepted as {visible(standing.partner)}"
    rejected = ", ".join(visible(each, 40) for each in sorted(standing.rejected)[:3])
    return {"no match": "no match", "skipped": "skipped", "rejected": f"not {rejected}", "open": "open"}[
        str(standing.status)
    ]
