"""Runs killed with SIGKILL at random moments, then resumed: do they end in the same bytes, and what does it cost?

    python benchmarks/kills.py [FOLDER] [--entities 5000] [--kills 20] [--method evidence] [--seed 0]

The run is done once without a folder and once with one, for the cost of keeping stages. Then, until there have been
enough kills, it is begun anew, killed at a moment drawn from the time that it works in its folder, and resumed; every
other resumed run is killed again. Links, relations, run file and companion are compared byte by byte with those of the
run that nobody killed.
"""

import argparse
import json
import random
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from dualmatch.simulate import scale_world, simulate, write_folder

CLOCKS = ("links.tsv.run.json", "run.json", "lock")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path, help="a benchmark folder (default: a simulated world)")
    parser.add_argument("--entities", type=int, default=5000, help="of the simulated world, a side")
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--method", default="evidence")
    parser.add_argument("--seed", type=int, default=0, help="of the moments")
    arguments = parser.parse_args()
    moments = random.Random(arguments.seed)
    with tempfile.TemporaryDirectory() as temporary:
        place = Path(temporary)
        world = arguments.folder or write_folder(simulate(scale_world(arguments.entities)), place / "world")
        call = [sys.executable, "-m", "dualmatch", "align", str(world), "-q", "--method", arguments.method]
        plain = _seconds([*call, "-o", str(place / "links.tsv")])
        run = place / "run"
        call += ["--run", str(run)]
        if arguments.method == "evidence":
            call += ["--relations", str(run / "relations.tsv")]
        whole, working = seconds_of(call, run)
        expected = _results(run)
        size = sum(path.stat().st_size for path in (run / "stages").iterdir()) / 1e6
        print(f"{plain:.1f} s without a folder, {whole:.1f} s with one, {size:.0f} MB of stages")
        print("run  killed after s  (stages kept)                        resumed s  same bytes")
        kills = number = wrong = 0
        while kills < arguments.kills:
            number += 1
            shutil.rmtree(run, ignore_errors=True)
            told = []
            again = True
            while again and kills < arguments.kills:
                moment = moments.uniform(0, working)
                if not killed([*call, *_resume(run)], run, moment):
                    break
                kills += 1
                told.append(f"{moment:.1f} ({_stages(run)})")
                again = moments.random() < 0.5
            seconds = _seconds([*call, *_resume(run)])
            same = _results(run) == expected
            wrong += not same
            print(
                f"{number:3}  {', then '.join(told) or 'done before':52} {seconds:9.1f}  {'yes' if same else 'NO'}",
                flush=True,
            )
        print(f"{kills} kills in {number} runs, {wrong} with other bytes")
    sys.exit(bool(wrong))


def _seconds(call: list[str]) -> float:
    start = time.perf_counter()
    subprocess.run(call, check=True)
    return time.perf_counter() - start


def seconds_of(call: list[str], run: Path) -> tuple[float, float]:
    """How long a run takes, and how long it works in its folder."""
    begin = time.time()
    whole = _seconds(call)
    return whole, whole - ((run / "lock").stat().st_mtime - begin)


def killed(call: list[str], run: Path, moment: float) -> bool:
    """Whether a run was killed, so many seconds after it began in its folder; False where it was done before."""
    begun, old = run / "lock", (run / "lock").read_bytes() if (run / "lock").exists() else None
    with subprocess.Popen(call) as process:
        while process.poll() is None and (not begun.exists() or begun.read_bytes() == old):
            time.sleep(0.005)  # it loads libraries: nothing can be lost yet
        try:
            process.wait(moment)
        except subprocess.TimeoutExpired:
            process.kill()
            return True
    if process.returncode:
        raise SystemExit(f"the run ended in {process.returncode} by itself")
    return False


def _resume(run: Path) -> list[str]:
    return ["--resume"] if (run / "lock").exists() else []


def _stages(run: Path) -> str:
    """What had come to count."""
    record = run / "run.json"
    if not record.exists():
        return "nothing"
    told = json.loads(record.read_text())
    if told["state"] == "finished":
        return "all"
    stages = [name + (f" {stage['number']}" if stage["number"] else "") for name, stage in told["stages"].items()]
    return stages[-1] if stages else "begun"


def _results(run: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in run.iterdir() if path.is_file() and path.name not in CLOCKS}


if __name__ == "__main__":
    main()
