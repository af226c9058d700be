"""``python -m fuzz``: run cases, and tell each kind of defect once, with how to run it again."""

import argparse
import json
import os
import shlex
import shutil
import sys
import tempfile
import time
import traceback
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

from fuzz.case import Case, make_case
from fuzz.judge import Symptom, fingerprint, judge
from fuzz.originals import make_originals, save_originals
from fuzz.sandbox import Outcome, run_command, warm_up
from fuzz.saved import holds_the_same

Result = dict[str, Any]


def main() -> int:
    """Run what the options ask for; the exit status is 1 if a rule was broken."""
    options = parse_options()
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        root = Path(folder)
        (root / "originals").mkdir()
        recordings = make_originals(root / "originals")
        originals = save_originals(recordings, root / "originals")
        if not options.saved:
            originals = [*recordings, *originals]
        (root / "warm").mkdir()
        warm_up(recordings[0], root / "warm")
        if options.case is not None:
            only = {int(each) for each in options.only.split(",") if each} if options.only is not None else None
            return show_case(options.seed, options.case, originals, options.keep or root, only)
        began = time.monotonic()
        results, failed = run_cases(options, originals, root)
        status = report(results, options.seed, time.monotonic() - began) if results else 0
        if failed:
            say("The fuzzer itself failed: cases are missing.")
        return int(failed) or status


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__)
    parser.add_argument("--cases", type=int, default=300, help="number of cases")
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    parser.add_argument("--seed", type=int, default=0, help="what the cases are chosen by")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="cases that run side by side")
    parser.add_argument("--saved", action="store_true", help="mutate only saved analyses")
    parser.add_argument("--case", type=int, help="run only this case, and show what it printed")
    parser.add_argument("--only", help="of its mutations only these, by number from 0, such as 0,2")
    parser.add_argument("--keep", type=Path, help="where the case's files are left")
    return parser.parse_args()


def run_case(
    seed: int, number: int, originals: list[Path], root: Path, only: set[int] | None = None
) -> tuple[Result, Outcome]:
    """Make a case, run it, judge it; its files are below the folder."""
    folder = root / f"case-{number}"
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "in").mkdir(parents=True)
    (folder / "run").mkdir()
    case = make_case(seed, number, originals, folder / "in", only)
    before = fingerprint(folder / "in")
    outcome = run_command(case.arguments, folder / "run")
    symptoms = judge(case.arguments, outcome, before, fingerprint(folder / "in"))
    if case.original.suffix == ".tcprof":
        symptoms = [each for each in symptoms if each.kind != "number"]
        symptoms += _compare(case, outcome, folder)
    result = {
        "number": number,
        "mutations": case.mutations,
        "arguments": case.arguments,
        "status": outcome.status,
        "cpu_s": outcome.cpu_s,
        "peak_bytes": outcome.peak_bytes,
        "symptoms": [vars(each) for each in symptoms],
    }
    return result, outcome


def _compare(case: Case, outcome: Outcome, folder: Path) -> list[Symptom]:
    """What a command says of a saved analysis that is written in another way, but holds the same."""
    if outcome.status not in (0, 1) or not holds_the_same(case.path, case.original):
        return []
    place = folder / "same" / case.path.parent.name  # which names the sides of a comparison
    place.mkdir(parents=True)
    (folder / "other").mkdir()
    same = shutil.copyfile(case.original, place / case.path.name)
    arguments = [str(same) if each == str(case.path) else each for each in case.arguments]
    other = run_command(arguments, folder / "other")
    if not outcome.says_the_same(other):
        return [Symptom("figures", f"{case.arguments[0]} says something else of the same content")]
    return []


def run_cases(options: argparse.Namespace, originals: list[Path], root: Path) -> tuple[list[Result], bool]:
    """Run cases in several processes; the results, and whether one of the processes did not do all of its cases."""
    jobs = max(1, min(options.jobs, options.cases))
    children = {}
    for job in range(jobs):
        results = root / f"results-{job}"
        children[job] = os.fork()
        if children[job] == 0:
            status = 1
            try:
                numbers = range(options.first + job, options.first + options.cases, jobs)
                work_off(numbers, options, originals, root, results)
                status = 0
            except BaseException:
                traceback.print_exc()
            finally:
                sys.stderr.flush()
                os._exit(status)
    statuses = [os.waitpid(child, 0)[1] for child in children.values()]
    written = (root / f"results-{job}" for job in range(jobs))
    lines = [line for file in written if file.exists() for line in file.read_text("utf-8").splitlines()]
    return [json.loads(line) for line in lines], any(statuses)


def work_off(numbers: range, options: argparse.Namespace, originals: list[Path], root: Path, lines: Path) -> None:
    told: set[tuple[str, str]] = set()
    with lines.open("w", buffering=1, encoding="utf-8", errors="backslashreplace") as file:
        for number in numbers:
            try:
                result, _ = run_case(options.seed, number, originals, root)
                new = {(each["kind"], each["what"]) for each in result["symptoms"]} - told
                if new:
                    told |= new
                    result["needed"] = minimize(options.seed, result, originals, root, new)
            except Exception as error:
                raise RuntimeError(f"case {number} of seed {options.seed} cannot be made or judged") from error
            shutil.rmtree(root / f"case-{number}", ignore_errors=True)
            file.write(json.dumps(result) + "\n")
            if sys.stderr.isatty():
                sys.stderr.write(f"\rcase {number} ")


def minimize(seed: int, result: Result, originals: list[Path], root: Path, wanted: set[tuple[str, str]]) -> list[int]:
    """The mutations that the symptoms need: each that can go is left out."""
    needed = list(range(len(result["mutations"]) - 1))
    if any(kind == "hang" for kind, _ in wanted):
        return needed  # too long to try again and again
    for each in tuple(needed):
        fewer = set(needed) - {each}
        again, _ = run_case(seed, result["number"], originals, root, fewer)
        if wanted <= {(symptom["kind"], symptom["what"]) for symptom in again["symptoms"]}:
            needed.remove(each)
    return needed


def report(results: list[Result], seed: int, seconds: float) -> int:
    """Print what was found: each symptom with its simplest case, and the counts."""
    clusters: dict[tuple[str, str], list[Result]] = defaultdict(list)
    details: dict[tuple[str, str], str] = {}
    for result in sorted(results, key=lambda each: ("needed" not in each, len(each.get("needed", ())), each["number"])):
        for symptom in result["symptoms"]:
            key = symptom["kind"], symptom["what"]
            clusters[key].append(result)
            details.setdefault(key, symptom["detail"])
    for key in sorted(clusters):
        print_cluster(*key, details[key], clusters[key], seed)
    broken = sum(bool(result["symptoms"]) for result in results)
    kinds = Counter(kind for result in results for kind in {each["kind"] for each in result["symptoms"]})
    distinct = Counter(kind for kind, _ in clusters)
    statuses = Counter(result["status"] for result in results)
    say(f"\n{len(results)} cases of seed {seed} in {seconds:.0f} s: {broken} with a symptom, {len(clusters)} distinct")
    for kind, number in sorted(kinds.items()):
        say(f"  {kind}: {number} cases, {distinct[kind]} distinct")
    say("  exit statuses: " + ", ".join(f"{status}: {number}" for status, number in sorted(statuses.items())))
    cpu, peak = max(each["cpu_s"] for each in results), max(each["peak_bytes"] for each in results)
    say(f"  longest {cpu:.1f} s of CPU time, largest {peak >> 20} MB")
    return int(broken > 0)


def print_cluster(kind: str, what: str, detail: str, results: list[Result], seed: int) -> None:
    """One symptom: the cases that have it, and the first of them."""
    first = results[0]
    original, *mutations = first["mutations"]
    needed = first.get("needed", range(len(mutations)))
    chosen = [mutations[place] for place in needed if place < len(mutations)]
    say(f"\n{kind}: {what}  [{len(results)} cases]")
    if detail:
        say(f"  {detail.splitlines()[0]}")
    say(f"  {original}: {'; '.join(chosen) or 'not changed at all'}")
    say(f"  tcprof {shlex.join(map(_short, first['arguments']))}")
    only = f" --only {','.join(map(str, needed)) or ','}" if "needed" in first else ""
    say(f"  again: PYTHONPATH=tests python -m fuzz --seed {seed} --case {first['number']}{only}")


def _short(argument: str) -> str:
    """An argument without its folder, and without the middle of a long one."""
    name = Path(argument).name if "/" in argument else argument
    return name if len(name) <= 60 else f"{name[:20]}…{name[-20:]}"


def show_case(seed: int, number: int, originals: list[Path], root: Path, only: set[int] | None) -> int:
    """Run one case, and print all that is known of it."""
    result, outcome = run_case(seed, number, originals, root, only)
    for words in result["mutations"]:
        say(f"  {words}")
    say(f"tcprof {shlex.join(result['arguments'])}")
    for text in (outcome.out, outcome.err):
        say(repr(text.decode("utf-8", "replace"))[1:-1].replace("\\n", "\n")[-6000:])
    say(f"status {outcome.status}, {outcome.cpu_s:.1f} s, {outcome.peak_bytes >> 20} MB")
    say(f"{outcome.crash} {outcome.message}")
    for symptom in result["symptoms"]:
        say(str(Symptom(**symptom)))
    return int(bool(result["symptoms"]))


def say(text: str) -> None:
    lines = ("".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in line) for line in text.split("\n"))
    sys.stdout.write("\n".join(lines).encode("utf-8", "replace").decode("utf-8") + "\n")


if __name__ == "__main__":
    sys.exit(main())
