"""Whether an installed wheel without extras is whole: public names load, and it aligns. For `make test-wheel`."""

import subprocess
import sys
import tempfile
from pathlib import Path

import dualmatch

FACTS = [(f"p{n}", f"r{n % 3}", f"p{(n * 7 + 1) % 40}", f"{1900 + n}-{n % 12 + 1:02}-01") for n in range(80)]
CALLS = ("simulate -o w --entities 60", "align w -o l.tsv", "report l.tsv -o r.html", "inspect w", "explain l.tsv s-00")


def main() -> None:
    names = [name for name in dualmatch.__all__ if getattr(dualmatch, name) is not None]
    assert names == dualmatch.__all__
    source = dualmatch.TemporalGraph.from_facts(FACTS)
    target = dualmatch.TemporalGraph.from_facts([(h.upper(), r, t.upper(), when) for h, r, t, when in FACTS])
    found = [(s, t) for s, t, _ in dualmatch.align(source, target).links()]
    assert len(found) > 30, found
    assert all(s.upper() == t for s, t in found)
    with tempfile.TemporaryDirectory() as here:
        for call in CALLS:
            words = [sys.executable, "-m", "dualmatch", *call.split()]
            subprocess.run(words, cwd=here, check=True, stdout=subprocess.DEVNULL)
        assert "Alignment" in (Path(here) / "r.html").read_text(encoding="utf-8")
    python = sys.version.split()[0]
    sys.stdout.write(f"dualmatch {dualmatch.__version__} on Python {python}: {len(names)} names, {len(found)} links\n")


if __name__ == "__main__":  # pytest imports it, too, to look for examples
    main()
