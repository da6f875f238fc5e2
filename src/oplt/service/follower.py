# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""A follower: a served model that learns the journal of another server, its leader, and must equal it.

It copies the leader's journal, at the same positions, and learns it like its own. Both note the fingerprint of the
model at the same positions; if two differ, the follower reports that it has diverged and is no longer ready.
"""

from __future__ import annotations

import logging
import tempfile
import threading
from pathlib import Path
from typing import Any

import httpx
import msgspec

from oplt.errors import OpltError
from oplt.service.errors import JournalError, UnavailableError
from oplt.service.journal import Durability, Journal, Record
from oplt.service.served_model import ServedModel
from oplt.service.snapshots import SnapshotInfo, SnapshotStore
from oplt.service.structs import JournalAnswer, RecordAnswer, SnapshotsAnswer

__all__ = ["Follower", "Leader", "bootstrap"]

_log = logging.getLogger(__name__)
_BATCH = 2000  # records of one request
_WAIT = 2.0  # seconds that a request waits for new records
_PAUSE = 1.0  # seconds after an error
_FAR = 2**62  # beyond the end of every journal
_MOST_PENDING = 20_000  # records that this follower may have fetched but not learned


class Leader:
    """The HTTP interface of the leader, as far as a follower needs it.

    Parameters
    ----------
    url
        Its address: that of the server, or of one of its models, ``http://host:8000/v1/models/NAME``.
    token
        A token that allows ``admin``, if the leader has tokens.
    """

    def __init__(self, url: str, token: str | None = None) -> None:
        self.url = url.rstrip("/")
        if "/v1" not in self.url:
            self.url += "/v1"
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        self._http = httpx.Client(headers=headers, timeout=httpx.Timeout(30.0, read=_WAIT + 30))

    def read(self, after: int, *, limit: int = _BATCH, wait: float = 0) -> JournalAnswer:
        """Read a part of the journal."""
        query = {"after": after, "limit": limit, "wait": wait}
        return msgspec.json.decode(self._get("/journal", query), type=JournalAnswer)

    def snapshots(self) -> list[SnapshotInfo]:
        """List the snapshots."""
        return msgspec.json.decode(self._get("/snapshots"), type=SnapshotsAnswer).snapshots

    def download(self, position: int, store: SnapshotStore) -> SnapshotInfo:
        """Copy a snapshot."""
        with tempfile.NamedTemporaryFile(dir=store.folder, suffix=".part") as part:
            with self._http.stream("GET", f"{self.url}/snapshots/{position}/file") as answer:
                answer.raise_for_status()
                for chunk in answer.iter_bytes():
                    part.write(chunk)
            part.flush()
            return store.add_file(Path(part.name), position)

    def _get(self, path: str, query: dict[str, Any] | None = None) -> bytes:
        answer = self._http.get(self.url + path, params=query)
        answer.raise_for_status()
        return answer.content

    def close(self) -> None:
        """Close the connections."""
        self._http.close()


def bootstrap(folder: Path, leader: Leader, durability: Durability) -> None:
    """Start the folder of a follower with the leader's journal and its newest snapshot.

    Records from before the snapshot are not learned, but a later request to forget one of them needs them.
    """
    store = SnapshotStore(folder / "snapshots")
    if store.list():
        return
    try:
        _log.info("copying the journal of %s", leader.url)
        part = leader.read(leader.read(_FAR, limit=1).first - 1)
        begin = part.records[0].position - 1 if part.records else part.last
        journal = Journal(folder / "journal.sqlite", durability, identity=part.id, begin=begin)
        try:
            while part.records and part.records[-1].position > journal.last:
                journal.replicate([_record(one) for one in part.records if one.position > journal.last]).result()
                part = leader.read(journal.last)
            lineage = journal.lineage(journal.last)
            usable = [one.position for one in leader.snapshots() if begin <= one.position <= journal.last]
            newest = max(position for position in usable if lineage.passes(position))
        finally:
            journal.close()
        leader.download(newest, store)  # last: a folder with a snapshot is complete
    except httpx.HTTPError as error:
        raise UnavailableError(
            "leader-not-reachable",
            "the leader cannot be followed",
            where=leader.url,
            got=_in_words(error),
            hint="Check the address, and the token, which must allow admin.",
        ) from None


class Follower:
    """Keeps a served model equal to its leader's, in a thread, until the model is promoted or closed."""

    def __init__(self, served: ServedModel, leader: Leader) -> None:
        self._served = served
        self._leader = leader
        self._stopped = threading.Event()
        self._is_checked = False
        self._n_equal = 0
        served.leader = leader.url
        served.recovered_until = max(served.recovered_until, served.learned)
        self._thread = threading.Thread(target=self._work, name="oplt-follower", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop following."""
        self._stopped.set()
        self._thread.join(timeout=_WAIT + 5)
        self._leader.close()

    def _work(self) -> None:
        while not self._stopped.is_set() and self._served.leader is not None and self._served.diverged is None:
            try:
                self._step()
            except (httpx.HTTPError, msgspec.MsgspecError) as error:
                if isinstance(error, httpx.HTTPStatusError) and error.response.status_code == 404:
                    self._diverge(
                        f"the leader no longer has the record after {self._served.journal.last:,}, the last one of this"
                        " follower; remove the folder of this follower to start anew from the leader's newest snapshot"
                    )
                    continue
                _log.warning("the leader cannot be read: %s", _in_words(error))
                self._stopped.wait(_PAUSE)
            except JournalError as error:
                if self._stopped.is_set():
                    return
                _log.error("records of the leader cannot be written: %s", error)
                self._stopped.wait(_PAUSE)
            except OpltError as error:
                self._diverge(str(error))

    def _step(self) -> None:
        own = self._served.journal
        if not self._is_checked:
            self._check_history()
        if own.last - self._served.learned > _MOST_PENDING:
            self._stopped.wait(0.1)
            return
        answer = self._leader.read(own.last, wait=_WAIT)
        if self._served.leader is None:  # promoted meanwhile
            return
        self._served.leader_last = answer.last
        records = [_record(one) for one in answer.records]
        for record in records:
            if record.kind == "rollback":
                self._fetch_target(int(record.content or b"0"))
        if records:
            own.replicate(records).result()
        self._compare(answer)

    def _check_history(self) -> None:
        """Check that the journal so far is the beginning of the leader's, as it is not after a split."""
        own = self._served.journal
        answer = self._leader.read(max(0, own.last - 1), limit=1)
        if answer.id != own.id:
            self._diverge("the leader has another journal; remove the folder of this follower to start anew")
        elif answer.last < own.last:
            self._diverge(f"this follower has {own.last:,} records, but its leader only {answer.last:,}")
        elif answer.records and own.last >= own.first:
            theirs, ours = _record(answer.records[0]), own.read(own.last - 1, 1)[0]
            if (theirs.kind, theirs.key, theirs.time) != (ours.kind, ours.key, ours.time):
                self._diverge(f"record {ours.position} differs from the leader's")
        self._is_checked = True

    def _fetch_target(self, position: int) -> None:
        """Copy the snapshot that the leader returned to. Without it, the model there is made from the journal."""
        if self._served.snapshots.at(position) is None:
            try:
                self._leader.download(position, self._served.snapshots)
            except httpx.HTTPStatusError as error:
                _log.info("snapshot %d cannot be copied: %s", position, _in_words(error))

    def _compare(self, answer: JournalAnswer) -> None:
        for theirs in answer.fingerprints:
            ours = self._served.journal.fingerprint_at(theirs.position)
            if ours is None:
                continue
            if ours != theirs.fingerprint:
                self._diverge(f"at position {theirs.position}, the fingerprint is {ours}, not {theirs.fingerprint}")
                return
            self._served.agreed = max(self._served.agreed, theirs.position)

    def _diverge(self, how: str) -> None:
        _log.critical("%s: the model has diverged from its leader: %s", self._served.name, how)
        self._served.diverged = how


def _record(one: RecordAnswer) -> Record:
    content = bytes(one.content)
    erased = one.forgotten is not None and content == b"null"
    return Record(
        one.position, one.kind, None if erased else content, one.key, one.who, one.time, one.forgotten
    )  # fmt: skip


def _in_words(error: Exception) -> str:
    if isinstance(error, httpx.HTTPStatusError):
        return f"it answered {error.response.status_code}"
    return f"{type(error).__name__}: {error}"
