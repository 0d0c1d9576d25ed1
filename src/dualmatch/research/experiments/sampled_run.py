"""One run on a sample, in a process of its own so that its memory can be measured.

The experiment ``scalability`` starts this module with one JSON object as its argument and reads one from its output.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from dualmatch.config import Config
from dualmatch.methods.resources import prepare_process
from dualmatch.research.experiments.sampling import measure_sample


def main() -> None:
    asked = json.loads(sys.argv[1])
    config = Config.checked(**asked["config"])
    prepare_process(config)
    json.dump(measure_sample(Path(asked["folder"]), asked["share"], config), sys.stdout)


if __name__ == "__main__":
    main()
