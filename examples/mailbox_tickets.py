# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Train on the labeled mail of a mailbox, then suggest labels for the rest.

python examples/mailbox_tickets.py                                      # on a mailbox that the script makes
python examples/mailbox_tickets.py "All mail.mbox" --save mail.oplt     # labels in a header, as exported by Gmail
python examples/mailbox_tickets.py billing.mbox sales.mbox inbox.mbox   # one file for each label; inbox has none
"""

import argparse
import mailbox
import random
import re
import tempfile
from collections.abc import Iterator
from contextlib import closing, suppress
from email.message import EmailMessage
from email.parser import BytesParser
from email.policy import default
from email.utils import formatdate, mktime_tz, parsedate_tz
from pathlib import Path

from oplt import OnlinePLT
from oplt.evaluate import progressive

NOT_TOPICS = {"", "all mail", "archived", "important", "inbox", "opened", "sent", "spam", "starred", "trash", "unread"}
SAMPLE = {
    "billing": "invoice payment refund charged receipt card amount",
    "delivery": "parcel tracking late address courier arrived damaged",
    "login": "password reset locked account code email forgotten",
    "crash": "app crashes error screen freezes update version",  # comes up halfway
}


def make_mailbox(path: Path, n: int = 400) -> Path:
    """Write the mailbox of a help desk, in which every tenth message has no label yet."""
    rng = random.Random(1)
    with closing(mailbox.mbox(path)) as box:
        for number in range(n):
            topics = rng.sample(list(SAMPLE)[: 3 if number < n / 2 else 4], rng.choice([1, 1, 2]))
            words = [word for topic in topics for word in rng.sample(SAMPLE[topic].split(), 3)]
            message = EmailMessage()
            message["Date"], message["Subject"] = formatdate(1.7e9 + 3600 * number), " ".join(words[:2])
            message["X-Gmail-Labels"] = ",".join(["Inbox", "Unread"] if number % 10 == 9 else ["Inbox", *topics])
            message.set_content(f"Hello,\nI need help: {' '.join(words[2:])}.\nMy number is {rng.randrange(10**6)}.")
            box.add(message)
    return path


def read(paths: list[Path], header: str) -> Iterator[tuple[int, str, list[str]]]:
    """Yield the date, text and labels of each message. The labels are in the header, or are the name of the file."""
    for path in paths:
        with closing(mailbox.mbox(path, BytesParser(policy=default).parse, create=False)) as box:
            for message in box:
                date, text = parsedate_tz(str(message["Date"])), str(message["Subject"] or "")
                with suppress(AttributeError, LookupError, ValueError):  # no body, or a wrong encoding
                    text += re.sub(r"<[^>]*>", " ", "\n" + message.get_body(("plain", "html")).get_content())
                names = [*str(message[header] or "").split(","), path.stem if len(paths) > 1 else ""]
                labels = [name.strip() for name in names if name.strip().lower() not in NOT_TOPICS]
                yield mktime_tz(date) if date else 0, text, labels


parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("mbox", nargs="*", type=Path)
parser.add_argument("--header", default="X-Gmail-Labels", help="header with the labels, separated by commas")
parser.add_argument("--save", type=Path, metavar="FILE", help="save the model, for oplt predict or oplt serve")
args = parser.parse_args()
mail = sorted(read(args.mbox or [make_mailbox(Path(tempfile.mkdtemp()) / "sample.mbox")], args.header))
if not any(labels for _, _, labels in mail):
    parser.error(f"found {len(mail)} messages, none of them labeled: is it an mbox file with the header {args.header}?")

model = OnlinePLT(features="text")
for report in progressive(model, [(text, labels) for _, text, labels in mail if labels], k=1, every=100):
    print(f"{report.n_examples:5,} messages, {report.n_labels} labels: first guess right for {report.total['P@1']:.0%}")
for text in [text for _, text, labels in mail if not labels][-8:]:
    suggested = [f"{label} ({probability:.0%})" for label, probability in model.predict_one(text, k=3, threshold=0.2)]
    print(f"{text.partition(chr(10))[0][:40]:42}", ", ".join(suggested))
if args.save:
    model.save(args.save)
