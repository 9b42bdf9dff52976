"""Draw problems for every public estimator, and count the laws that they break.

    PYTHONPATH=tests python -m fuzz --cases 20000              # hours
    PYTHONPATH=tests python -m fuzz BALToR --first 17 --cases 1   # one case again

A case is a number: the same number is the same case. Cases that ``fit`` refuses for a
documented reason are counted apart.
"""

import random
import re
import sys
import time
import traceback
import warnings
from argparse import ArgumentParser

from fuzz.cases import Case
from fuzz.laws import GROUPS
from fuzz.subjects import SUBJECTS
from tqdm import tqdm


def broken_law(subject, number):
    """Return None for a case that keeps its laws, "refused", or what went wrong."""
    draw = random.Random(number)
    recipe = {name: draw.choice(of) for name, of in subject.every_choice.items()}
    try:
        case = Case.of(subject, recipe)
    except ValueError as error:
        if re.search(subject.refused, str(error)):
            return "refused"
        return f"{recipe}\n{traceback.format_exc()}"
    try:
        for law in GROUPS[recipe["laws"]]:
            law(case)
    except Exception:
        return f"{recipe}\n{traceback.format_exc()}"
    return None


def main():
    parser = ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*", metavar="estimator", help="default: all")
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0)
    options = parser.parse_args()
    warnings.simplefilter("error")
    warnings.simplefilter("ignore", UserWarning)
    tqdm.write("| estimator | cases | refused | seconds | failures |")
    tqdm.write("|---|---|---|---|---|")
    total = 0
    for name in options.names or SUBJECTS:
        start, number, refused, failures = time.process_time(), options.first, 0, 0
        with tqdm(total=options.cases, desc=name, mininterval=1) as bar:
            while bar.n < options.cases:
                result = broken_law(SUBJECTS[name], number)
                if result == "refused":
                    refused += 1
                else:
                    bar.update()
                if result not in (None, "refused"):
                    failures += 1
                    tqdm.write(
                        f"\n{name} --first {number} --cases 1\n{result}",
                        file=sys.stderr,
                    )
                number += 1
        seconds = time.process_time() - start
        tqdm.write(f"| {name} | {bar.n} | {refused} | {seconds:.0f} | {failures} |")
        total += failures
    return min(total, 1)


if __name__ == "__main__":
    sys.exit(main())
