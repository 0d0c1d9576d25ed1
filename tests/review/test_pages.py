"""The pages as a browser without scripts sees them: every decision is a form."""

from __future__ import annotations

import csv
import io
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from conftest import refused
from dualmatch.cli.main import main
from dualmatch.links.decisions import DecisionLog, read_decisions
from dualmatch.links.opinions import ReviewVerdict
from dualmatch.links.read import read_links
from dualmatch.review.filter import Filter
from dualmatch.review.queue import Tab
from dualmatch.review.serve import ReviewServer
from dualmatch.review.session import Session
from reviewing import DOUBTFUL, Client, served, weights_in


def first_pair(client: Client) -> int:
    return int(re.findall(r'href="/pair/(\d+)\?', client.ask("/?tab=all").text)[0])


def decide(client: Client, verdict: str, source: int, **more: object) -> str:
    page = client.ask(f"/pair/{source}").text
    target = re.search(r'name="target" value="(\d+)"', page)
    fields = {"verdict": verdict, "source": source, "seen": re.findall(r'name="seen" value="(\d+)"', page)[-1]}
    if target is not None and verdict in ("accept", "reject"):
        fields["target"] = target[1]
    answer = client.post("/decide", **{"tab": "all", **fields, **more})
    assert answer.status == 303, answer.text
    return answer.headers["location"]


def test_every_verdict_goes_to_the_next_pair_and_undo_back(client: Client, serving: ReviewServer) -> None:
    order = serving.session.queue.order.tolist()
    names = serving.session.run.basis.source.entities
    assert first_pair(client) == order[0]
    for place, verdict in enumerate(("accept", "none", "skip")):
        assert decide(client, verdict, order[place]) == f"/pair/{order[place + 1]}?tab=all"
    rows = serving.session.log.live()
    assert [(row.verdict, row.source) for row in rows] == [
        (verdict, names[order[place]]) for place, verdict in enumerate(("accept", "none", "skip"))
    ]
    assert f"All: 2 of {DOUBTFUL.entities} decided, 1 skipped<" in client.ask("/?tab=all").text
    answer = client.post("/undo", seen=rows[-1].id)
    assert answer.headers["location"] == f"/pair/{order[2]}"
    assert f"All: 2 of {DOUBTFUL.entities} decided<" in client.ask("/?tab=all").text
    assert client.post("/undo", seen=rows[-1].id).status == 409


def test_a_conflict_with_another_tab_is_reported(client: Client, serving: ReviewServer) -> None:
    source = first_pair(client)
    decide(client, "skip", source)
    answer = client.post("/decide", verdict="none", source=source, seen=0)
    assert answer.status == 409
    assert "was decided elsewhere in the meantime" in answer.text
    assert len(serving.session.log.live()) == 1


def test_a_target_is_given_once(client: Client, serving: ReviewServer) -> None:
    one, other = serving.session.queue.order[:2].tolist()
    decide(client, "accept", one, target=7)
    answer = client.post("/decide", verdict="accept", source=other, target=7, seen=0)
    assert answer.status == 409
    assert "was accepted for" in answer.text
    assert "It was accepted for" in client.ask(f"/pair/{other}?show=7").text


def test_a_pair_shows_what_adds_up_and_what_the_run_says(client: Client, serving: ReviewServer) -> None:
    basis = serving.session.run.basis
    source, target = basis.pairs[np.argmin(basis.confidence)].tolist()
    page = client.ask(f"/pair/{source}?status=all").text
    name, confidence = basis.target.entities[target], basis.confidence.min()
    assert f"Linked with {name}, confidence {confidence:.3f}." in page
    table = re.search(r'<table[^>]* class="pairs reasons">.*?</table>', page, re.DOTALL)
    assert table is not None
    *parts, total = weights_in(table[0])
    assert sum(parts) == pytest.approx(total, abs=0.005 * (len(parts) + 1))
    assert total == pytest.approx(np.log(confidence / (1 - confidence)), abs=0.01)
    none = basis.unlinked
    for at, verdict in (
        (int(np.argmax(none.is_no_match)), "No match"),
        (int(np.argmin(none.is_no_match)), "Undecided"),
    ):
        sure = f" (confidence {none.confidence[at]:.3f})" if verdict == "No match" else ""
        words = f"{verdict}{sure}: {none.in_words(at, basis.target.entities)}."
        assert words in client.ask(f"/pair/{none.row[at]}?status=all").text


def test_the_queue_is_filtered_by_what_the_run_says(client: Client, serving: ReviewServer) -> None:
    none = serving.session.run.basis.unlinked
    expected = {"no match": int(none.is_no_match.sum()), "undecided": int((~none.is_no_match).sum())}
    for outcome, count in expected.items():
        page = client.ask(f"/?tab=all&outcome={outcome.replace(' ', '+')}").text
        assert f'<p id="count">{count} entities' in page
        assert page.count(f"<td>{outcome}</td>") == min(count, 50)
        row = re.findall(r'href="/pair/(\d+)\?tab=all&amp;outcome=', page)[0]
        location = decide(client, "skip", int(row), outcome=outcome)
        assert f"outcome={outcome.replace(' ', '+')}" in location  # the filter survives a decision


def test_pick_another_finds_by_name(client: Client, serving: ReviewServer) -> None:
    source = first_pair(client)
    name = serving.session.run.basis.target.entities[5]
    page = client.ask(f"/pair/{source}?find={name.upper()}").text
    assert 'show=5" id="first-found"' in page.replace("&amp;", "&")
    assert "No entity of the target" in client.ask(f"/pair/{source}?find=nobody").text
    decide(client, "accept", source, target=5)
    assert serving.session.log.state.holder == {name: serving.session.run.basis.source.entities[source]}


def test_exports_are_what_align_and_others_read(client: Client, serving: ReviewServer, tmp_path: Path) -> None:
    order = serving.session.queue.order.tolist()
    for place, verdict in enumerate(("accept", "reject", "none", "skip")):
        decide(client, verdict, order[place])
    now = serving.session.log.state
    assert client.ask("/export/seeds.tsv").text == "".join(f"{s}\t{t}\n" for s, t in now.accepted)
    rejected = client.ask("/export/rejected.tsv").text
    assert sorted(rejected.splitlines()) == sorted(f"{s}\t{t or ''}" for s, t in now.forbidden)
    sssom = client.ask("/export/decisions.sssom.tsv")
    assert sssom.headers["content-disposition"] == 'attachment; filename="decisions.sssom.tsv"'
    table = [line for line in sssom.text.splitlines() if not line.startswith("#")]
    rows = list(csv.DictReader(table, delimiter="\t"))
    assert [row["predicate_modifier"] for row in rows].count("Not") == 1
    assert {row["mapping_justification"] for row in rows} == {"semapv:ManualMappingCuration"}
    assert [row["object_id"] for row in rows].count("sssom:NoTermFound") == 1
    (tmp_path / "d.sssom.tsv").write_bytes(sssom.body)
    assert read_links(tmp_path / "d.sssom.tsv")[0] == now.accepted
    listed = list(csv.DictReader(io.StringIO(client.ask("/export/decisions.csv").body.decode("utf-8-sig"))))
    assert [row["verdict"] for row in listed] == ["accept", "reject", "none", "skip"]
    assert {row["at_once"] for row in listed} == {"no"}
    (tmp_path / "seeds.tsv").write_bytes(client.ask("/export/seeds.tsv").body)
    (tmp_path / "rejected.tsv").write_bytes(rejected.encode())
    world = serving.session.run.spec.paths[0]
    call = ["align", str(world), "-o", str(tmp_path / "again.tsv"), "-q", "--seeds", str(tmp_path / "seeds.tsv")]
    main([*call, "--forbid", str(tmp_path / "rejected.tsv")])
    links = set(read_links(tmp_path / "again.tsv")[0])
    assert set(now.accepted) <= links
    assert links.isdisjoint(now.forbidden)


def test_align_again_uses_the_decisions_and_shows_what_changed(
    client: Client, serving: ReviewServer, doubtful: Path
) -> None:
    gold = dict(line.split("\t") for line in (doubtful / "gold.tsv").read_text().splitlines())
    session = serving.session
    names, targets = session.run.basis.source.entities, session.run.basis.target.entity_rows
    before = {tuple(pair) for pair in session.run.basis.pairs.tolist()}
    for row in session.queue.order[:25].tolist():
        if names[row] in gold:
            decide(client, "accept", row, target=targets[gold[names[row]]])
        else:
            decide(client, "none", row)
    sample = session.queue.tabs[Tab.SPOT].tolist()
    for row in sample[:6]:
        if not session.decided().is_decided[row]:
            decide(client, "reject" if row == sample[0] else "accept", row, target=session.queue.proposed[row])
    check = session.spot_check(Filter())
    page = client.ask("/again").text
    assert "No run yet." in page
    assert check.wrong
    assert f"what it has found ({check.right} of {check.checked} right) stays on its tab" in page
    assert "<dt>It will take</dt>" in page
    assert 'id="earlier"' not in client.ask("/?tab=spot").text
    assert client.post("/again").headers["location"] == "/again"
    serving.again.wait(60)
    assert serving.again.state == "done", serving.again.words
    page = client.ask("/again").text
    assert "<td>decided</td>" in page
    assert "Continue with the queue" in page
    assert "It will take" not in page
    assert not re.search(r'<td>no link</td>\s*<td class="number">\d', page)
    low, high = (f"{end:.0%}".replace("%", " %") for end in check.interval)
    found = f"Before you aligned again: {check.right} of {check.checked} right, between {low} and {high} of all links."
    assert found in client.ask("/?tab=spot").text
    after = {tuple(pair) for pair in session.run.basis.pairs.tolist()}
    changed = {s for s, _ in before ^ after}
    assert {change.source for change in serving.again.changes} == changed
    written = session.path.with_name("links.reviewed.tsv")
    pairs = set(read_links(written)[0])
    standings = session.log.state
    assert set(standings.accepted) <= pairs
    assert pairs.isdisjoint(standings.forbidden)
    assert session.path.read_bytes() == (doubtful / "links.tsv").read_bytes()
    main(["report", str(written), "-o", str(written.with_suffix(".html")), "-q"])


def test_the_run_file_of_a_new_run_does_it_again(doubtful: Path, tmp_path: Path) -> None:
    """Though the first run had seeds and forbidden pairs of its own, and decisions continue afterwards."""
    gold = [line.split("\t") for line in (doubtful / "gold.tsv").read_text().splitlines()]
    (tmp_path / "known.tsv").write_text("".join(f"{s}\t{t}\n" for s, t in gold[:10]))
    (tmp_path / "apart.tsv").write_text(f"{gold[20][0]}\t{gold[21][1]}\n")
    links, call = tmp_path / "links.tsv", ["align", str(doubtful / "world"), "-q", "-o"]
    main([*call, str(links), "--seeds", str(tmp_path / "known.tsv"), "--forbid", str(tmp_path / "apart.tsv")])
    with served(links) as serving:
        client, session = Client(serving.address), serving.session
        order = session.queue.order.tolist()
        for place, verdict in enumerate(("accept", "reject", "none")):
            decide(client, verdict, order[place])
        client.post("/again")
        serving.again.wait(60)
        assert serving.again.state == "done", serving.again.words
        decide(client, "none", order[3])
    new = tmp_path / "links.reviewed.tsv"
    assert len((tmp_path / "links.reviewed.tsv.seeds.tsv").read_text().splitlines()) == 11
    assert len((tmp_path / "links.reviewed.tsv.forbidden.tsv").read_text().splitlines()) == 3
    main([*call, str(tmp_path / "same.tsv"), "--config", f"{new}.run.json"])
    assert (tmp_path / "same.tsv").read_bytes() == new.read_bytes()


def test_pairs_are_shown_before_their_reasons_are_ready(links: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Session, "prepare", lambda self: None)
    with served(links, prepared=False) as serving:
        client, session = Client(serving.address), serving.session
        one, other = session.queue.order[:2].tolist()
        page = client.ask(f"/pair/{one}").text
        assert "still being prepared" in page
        assert "What speaks for it" not in page
        assert client.ask("/prepared").text == '{"prepared":false}'
        early = session.view(one, int(session.queue.proposed[one]))
        decide(client, "accept", one)
        session._prepare(session.run.basis)
        assert client.ask("/prepared").text == '{"prepared":true}'
        late = session.view(one, int(session.queue.proposed[one]))
        shown = {row.left.fact for row in late.rows} | {each.fact for each in late.only_source}
        assert {each.fact for each in early.only_source} == shown
        page = client.ask(f"/pair/{other}").text
        assert "being prepared" not in page
        assert "What speaks for it" in page


def test_decisions_of_other_graphs_are_reported_and_ignored(
    links: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    log = DecisionLog.open(links.with_name("links.tsv.decisions.db"))
    log.decide(ReviewVerdict.ACCEPT, "Zeno", "Q1", 0)
    log.decide(ReviewVerdict.NO_MATCH, "Hypatia", None, 0)
    log.close()
    with monkeypatch.context() as patched:
        patched.setattr(ReviewServer, "run", lambda self: self._bound.close())
        main(["review", str(links), "--no-open"])
    assert "2 decisions are about entities that are not in" in capsys.readouterr().err
    with served(links) as serving:
        client = Client(serving.address)
        assert f"All: 0 of {DOUBTFUL.entities} decided" in client.ask("/?tab=all").text
        client.post("/again")
        serving.again.wait(60)
        assert serving.again.state == "done", serving.again.words
        assert client.ask("/again").text.count("No link changed.") == 1
        assert client.post("/undo", seen=2).headers["location"] == "/"


def test_a_run_that_fails_says_so(client: Client, serving: ReviewServer, monkeypatch: pytest.MonkeyPatch) -> None:
    from dualmatch.errors import InputError

    def fail(*_: object, **__: object) -> None:
        raise InputError("the <graphs> are gone")

    monkeypatch.setattr("dualmatch.review.realign.align", fail)
    client.post("/again")
    serving.again.wait(60)
    assert "It failed: the &lt;graphs&gt; are gone" in client.ask("/again").text
    assert client.ask("/again/state").text.startswith('{"state":"failed"')


def test_what_was_answered_survives_a_kill(links: Path) -> None:
    command = [sys.executable, "-m", "dualmatch", "review", str(links), "--no-open", "-q", "--port", "0"]
    with subprocess.Popen(command[:-3], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        client = Client(process.stdout.readline().split()[-1])
        for source in range(5):
            assert client.post("/decide", verdict="none", source=source, seen=0).status == 303
        os.kill(process.pid, signal.SIGKILL)
    assert len(read_decisions(links.with_name("links.tsv.decisions.db")).forbidden) == 5


def test_ctrl_c_ends_it_well(links: Path) -> None:
    command = [sys.executable, "-m", "dualmatch", "review", str(links), "--no-open"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        client = Client(process.stdout.readline().split()[-1])
        assert client.ask("/").status == 200
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=120)
    assert process.returncode == 0
    assert "Traceback" not in said


def test_what_cannot_be_reviewed_is_refused(
    links: Path, small_world: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    temporal = tmp_path / "temporal.tsv"
    main(["align", str(small_world), "-o", str(temporal), "--method", "temporal", "-q"])
    (tmp_path / "text.db").write_text("mine")
    for arguments, words in (
        ([tmp_path / "none.tsv"], "no such file"),
        ([temporal], "method temporal keeps no evidence"),
        ([links, "--decisions", tmp_path / "text.db"], "text.db: is not a file of decisions"),
        ([links, "--decisions", tmp_path / "no" / "such.db"], "cannot be used as a file of decisions"),
        ([links, "--host", "0.0.0.0"], "means every address"),
        ([links, "--port", "99999"], "--port"),
    ):
        assert words in refused(["review", *map(str, arguments)], capsys, tmp_path)
    DecisionLog.open(links.with_name("links.tsv.decisions.db")).close()
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    said = refused(["review", str(links)], capsys, tmp_path)
    assert "the page needs uvicorn, which is not installed; in a clone, run: pip install '.[review]'" in said
