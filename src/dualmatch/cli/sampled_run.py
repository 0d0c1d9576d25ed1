"""One run on a sample, in a process of its own so that its memory can be told: ``python -m dualmatch.cli.sampled_run``.

Started by the experiment ``scalability``; takes one JSON object as its argument and prints one.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from dualmatch.cli.process import prepare_process
from dualmatch.config import Config
from dualmatch.experiments.sampling import measure_sample


def main() -> None:
    asked = json.loads(sys.argv[1])
    config = Config.checked(**asked["config"])
    prepare_process(config)
    print(json.dumps(measure_sample(Path(asked["folder"]), asked["share"], config)))


if __name__ == "__main__":
    main()
