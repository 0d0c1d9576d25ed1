"""A call ends in words and with the right code: closed and narrow streams, signals at any moment, odd values."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from dualmatch import ConfigError
from dualmatch.cli.main import main
from dualmatch.engine import InProcess
from dualmatch.errors import DualMatchError

FACTS = "head,relation,tail,begin\n" + "".join(f"É{n},met,Ada {n + 1},{1800 + n}\n" for n in range(20))
CLOSED = "import os, sys; os.close(int(sys.argv[1])); os.execv(sys.executable, [sys.executable, *sys.argv[2:]])"


@pytest.fixture
def facts(tmp_path: Path) -> Path:
    path = tmp_path / "facts.csv"
    path.write_text(FACTS)
    return path


def called(
    *arguments: object, closed: int | None = None, before: str = "", **environment: str
) -> subprocess.CompletedProcess[str]:
    """A call in a process of its own: with a standard stream closed, or some code before it."""
    run = ["-c", f"{before}\nfrom dualmatch.__main__ import main\nmain()", *map(str, arguments)]
    first = [] if closed is None else ["-c", CLOSED, str(closed)]
    return subprocess.run(
        [sys.executable, *first, *run],
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        env={**os.environ, **environment},
        timeout=120,
        check=False,
    )


@pytest.mark.parametrize("closed", [0, 1, 2])
def test_a_closed_stream_does_not_end_a_call(facts: Path, closed: int) -> None:
    links = facts.with_name("links.tsv")
    found = called("align", facts, facts, "-o", links, closed=closed)
    assert found.returncode == 0, found.stderr
    assert links.read_text().startswith("source\t")
    assert "Traceback" not in found.stderr


def test_a_result_is_not_written_to_a_closed_standard_output(facts: Path) -> None:
    for arguments in (["align", facts, facts, "-o", "-"], ["inspect", facts, "--json", "-"]):
        found = called(*arguments, closed=1)
        assert found.returncode == 2
        assert "standard output is closed" in found.stderr
        assert "Traceback" not in found.stderr


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_what_an_encoding_lacks_is_written_as_an_escape(facts: Path, encoding: str) -> None:
    facts.write_text(FACTS.replace("met", "met ≈"))
    found = called("inspect", facts, PYTHONIOENCODING=encoding)
    assert found.returncode == 0, found.stderr
    assert "met \\u2248" in found.stdout


@pytest.mark.parametrize("word", [".", "", "/"])
def test_an_output_that_is_no_file_is_refused(facts: Path, word: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["align", str(facts), str(facts), "-o", word])
    assert caught.value.code == 2
    assert "give the name of a file" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('seeds = "a\\u0000b"', "holds a NUL"),
        ('[source]\nlabels = "a\\u0000b"', "holds a NUL"),
        (f"top = {'9' * 5000}", "is not TOML"),
        (f"x = {'[' * 100_000}", "is not TOML"),
        ("x = '\xff'", "not UTF-8"),
    ],
)
def test_an_odd_file_of_options_is_refused_in_words(
    facts: Path, text: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    config, links = facts.with_name("config.toml"), facts.with_name("links.tsv")
    config.write_bytes(text.encode("latin-1"))
    with pytest.raises(SystemExit) as caught:
        main(["align", str(facts), str(facts), "--config", str(config), "-o", str(links)])
    assert caught.value.code == 2
    assert words in capsys.readouterr().err
    assert not links.exists()


def test_threads_that_no_machine_can_start_are_refused(facts: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["align", str(facts), str(facts), "-o", "x.tsv", "--threads", "99999999"])
    assert caught.value.code == 2
    assert "1<=x<=1024" in capsys.readouterr().err
    with pytest.raises(ConfigError, match="not from 1 to 1,024"):
        InProcess(99999999)


INTERRUPT_AT = """
import os, signal, sys
class Interrupt:
    def find_spec(self, name, *_):
        if name == {module!r}:
            try:
                os.kill(os.getpid(), signal.SIGINT)
            except BaseException:  # as libraries do that load others only where they are there
                pass
sys.meta_path.insert(0, Interrupt())
"""


@pytest.mark.parametrize("module", ["click", "numpy", "polars", "scipy.sparse"])
def test_ctrl_c_while_libraries_are_loaded(facts: Path, module: str) -> None:
    before = INTERRUPT_AT.format(module=module)
    found = called("align", facts, facts, "-o", facts.with_name("links.tsv"), before=before)
    assert (found.returncode, found.stdout) == (130, "")
    assert found.stderr.splitlines()[-1] == "dualmatch: interrupted; nothing half-written is left"
    assert "Traceback" not in found.stderr


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_while_writing_leaves_nothing(facts: Path, end: signal.Signals) -> None:
    if signal.getsignal(end) is signal.SIG_IGN:
        pytest.skip(f"{end.name} is ignored here, as under nohup, and by programs started from here")
    before = f"""
import os
from dualmatch.files import table_writer
def half(table, file):
    file.write(b"source")
    os.kill(os.getpid(), {int(end)})
table_writer.TABLE_WRITERS["tsv"] = half
"""
    found = called("align", facts, facts, "-o", facts.with_name("links.tsv"), before=before)
    assert found.returncode == 128 + end
    assert f"ended by {end.name}; nothing half-written is left" in found.stderr
    assert "Traceback" not in found.stderr
    assert [*facts.parent.iterdir()] == [facts]


def test_an_error_that_nobody_reads_keeps_its_code(tmp_path: Path) -> None:
    call = [sys.executable, "-m", "dualmatch", "inspect", str(tmp_path / "none.csv")]
    reading, writing = os.pipe()
    os.close(reading)
    assert subprocess.run(call, stdout=writing, stderr=writing, check=False).returncode == 2
    os.close(writing)


def test_control_sequences_do_not_reach_a_terminal(facts: Path) -> None:
    facts.write_text(FACTS.replace("met", "met\x1b]0;owned\x07").replace("Ada", "\x1b[2JAda\x9b"))
    for arguments in (["inspect", facts], ["align", facts, facts, "-o", "-"], ["inspect", facts.with_name("\x1b[2J")]):
        main_end, its_end = pty.openpty()
        call = [sys.executable, "-m", "dualmatch", *map(str, arguments)]
        with subprocess.Popen(call, stdout=its_end, stderr=its_end, env={**os.environ, "NO_COLOR": "1"}) as process:
            os.close(its_end)
            shown = b""
            try:
                while piece := os.read(main_end, 65536):
                    shown += piece
            except OSError:  # the terminal's other end is closed
                pass
            os.close(main_end)
        assert process.returncode in (0, 2), shown
        assert b"\x1b]0;" not in shown
        assert b"\x1b[2J" not in shown
        assert b"\x07" not in shown
        assert "⟨1B⟩" in shown.decode()


def test_no_message_is_longer_than_a_screen(facts: Path, capsys: pytest.CaptureFixture[str]) -> None:
    facts.write_text("head,relation,tail,begin\n" + "".join(f"a,b,c,{'x' * 100_000}{n}\n" for n in range(9)))
    with pytest.raises(SystemExit):
        main(["align", str(facts), str(facts), "-o", "-"])
    assert len(capsys.readouterr().err) < 4000
    error = DualMatchError(f"links.tsv:7: {'n' * 10_000} is no entity; check the name")
    assert str(error).startswith("links.tsv:7: nnn")
    assert str(error).endswith("is no entity; check the name")
