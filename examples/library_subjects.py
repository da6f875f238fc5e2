# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Suggest subjects of a controlled vocabulary for library records, even subjects that no record has had yet.

    python examples/library_subjects.py                                # on records that the script makes
    python examples/library_subjects.py yso.nt records.tsv --lang en   # on a SKOS vocabulary and records of your own

The files are those of Annif. The vocabulary is SKOS as N-Triples, or TSV with a <URI> and a name in each line. The
records are TSV: a text, then its subjects, <URI> <URI>. Records without subjects get suggestions.
"""

import argparse
import json
import random
import re
import tempfile
from itertools import islice
from pathlib import Path

from oplt import OnlinePLT
from oplt.evaluate import progressive
from oplt.text import TextFeatures

SAMPLE = {  # subjects, and words of titles about them
    "astronomy": "stars telescopes planets galaxies",
    "beekeeping": "bees hives honey apiary",
    "bridges": "arches steel spans engineering",
    "cartography": "maps atlas projections surveying",
    "ceramics": "pottery clay kilns glaze",
    "epidemics": "plague infection vaccines outbreak",
    "glaciers": "ice moraines melting valleys",
    "printing": "type books presses typography",
    "railways": "trains stations locomotives tracks",
    "volcanoes": "eruption lava ash craters",
}


def make_files(folder: Path, n: int = 600) -> list[Path]:
    """Write a vocabulary, and records in which its subjects come into use one after the other."""
    rng, names, uri = random.Random(1), list(SAMPLE), "<http://example.org/{}>".format
    vocabulary, records = folder / "vocabulary.tsv", folder / "records.tsv"
    vocabulary.write_text("".join(f"{uri(name)}\t{name}\n" for name in names))
    with records.open("w") as file:
        for number in range(n):
            subjects = rng.sample(names[: 2 + 10 * number // n], rng.choice([1, 1, 2]))
            words = [word for name in subjects for word in rng.sample([name, *SAMPLE[name].split()], 3)]
            title = f"{rng.choice(['A history of', 'Introduction to', 'Studies on'])} {' '.join(words)}"
            file.write(f"{title}\t{'' if number % 50 == 49 else ' '.join(map(uri, subjects))}\n")
    return [vocabulary, records]


def read_vocabulary(path: Path, language: str) -> dict[str, str]:
    """Read the preferred name of each subject, by its URI."""
    text = path.read_text(encoding="utf-8")
    skos = re.findall(rf'^<(\S+)>\s+<\S+#prefLabel>\s+(".*")@{language}\b', text, re.MULTILINE)
    return {uri: json.loads(name) for uri, name in skos} or dict(
        re.findall(r"^<(\S+)>\t([^\t\n]+)", text, re.MULTILINE)
    )


parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("files", nargs="*", type=Path, metavar="VOCABULARY RECORDS")
parser.add_argument("--lang", default="en", help="language of the names in a SKOS vocabulary")
args = parser.parse_args()
vocabulary, records = args.files or make_files(Path(tempfile.mkdtemp()))
names = read_vocabulary(vocabulary, args.lang)
lines = (line.partition("\t") for line in records.read_text(encoding="utf-8").splitlines())
examples = [(text, re.findall(r"<(\S+)>", subjects)) for text, _, subjects in lines]

model = OnlinePLT(features=TextFeatures(chars=(3, 5)))  # with parts of words: "glacier" resembles "glaciers"
for uri, name in names.items():
    model.labels.add(uri, text=name)  # from now on, it can be suggested
for report in progressive(model, (example for example in examples if example[1]), every=200):
    first = report.by_occurrences[0]
    print(f"{report.n_examples:,} records: best suggestion right for {report.total['P@1']:.0%},", end=" ")
    print(f"{first.n_hits} of {first.n_true} subjects among the best five on their first use")
for text, _ in islice((example for example in examples if not example[1]), 8):
    suggested = model.predict_one(text, k=3, threshold=0.2)
    print(f"{text[:50]:52}", ", ".join(f"{names.get(uri, uri)} ({probability:.0%})" for uri, probability in suggested))
