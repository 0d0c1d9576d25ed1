"""Cost of the temporal channel: seconds, machine units and memory, on the real datasets where they are there.

Each dataset runs in a process of its own, so that the peak memory is its own.
"""

import json
import subprocess
import sys
from pathlib import Path

DATA = Path(__file__).parents[2] / "shared" / "data"


def main() -> None:
    folders = [DATA / name for name in ("yago-wiki20k", "dicews-rebuilt") if (DATA / name).is_dir()]
    if not folders:
        sys.exit(f"no dataset in {DATA}")
    print(f"{'dataset':16} {'seconds':>8} {'unit s':>7} {'units':>6} {'peak MB':>8}  parts")
    for folder in folders:
        command = [sys.executable, "-m", "dualmatch", "benchmark", str(folder), "--method", "temporal", "--json", "-"]
        report = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        seconds, unit = report["seconds"], report["unit_seconds"]
        parts = ", ".join(f"{name} {value:.1f}" for name, value in seconds.items() if value and name != "total")
        total = seconds["total"]
        print(f"{folder.name:16} {total:8.1f} {unit:7.2f} {total / unit:6.1f} {report['peak_mb']:8,.0f}  {parts}")


if __name__ == "__main__":
    main()
