"""Baselines beside the scores to come: what a Markov chain makes of each change, and what the annotation says it does.

They belong to the items and not to a run: every run of an order is compared with the same ones. Worked out while the file is
checked, for all accepted changes of a batch together.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from orders.intake import FastaReference, Verdict
from registry import annotation_files, files, markov
from registry.annotations.consequences import NO_ANNOTATION, TOOL, Change, Consequences
from registry.models import MarkovTable, TestVersion


class Baseline(NamedTuple):
    """Of one accepted change; a sequence has none."""

    markov_delta: float | None  # nats
    consequence: str


NONE = Baseline(None, "")


class Baselines:
    """What the test version names: the chain fitted on its reference, and its annotation."""

    def __init__(self, test: TestVersion, reference: FastaReference) -> None:
        self._test, self._reference = test, reference
        self._chain = markov.tables(test.reference_id)
        annotation = test.annotation
        if annotation:
            annotation_files.require(annotation)
        self._consequences = (
            Consequences(files.transcripts(annotation), files.fasta(test.reference), annotation.codes) if annotation else None
        )

    def of(self, accepted: Sequence[Verdict]) -> list[Baseline]:
        """A baseline for each change, in their order."""
        changes = [Change(v.contig, v.position, v.ref, v.alt) for v in accepted]
        said = self._consequences.of(changes) if self._consequences else [NO_ANNOTATION] * len(changes)
        return [Baseline(self._delta(change), words) for change, words in zip(changes, said, strict=True)]

    @property
    def state(self) -> dict[str, int]:
        """What was counted so far, for `resume`."""
        return dict(self._consequences.unknown) if self._consequences else {}

    def resume(self, state: Mapping[str, int]) -> None:
        """Go on counting where an interrupted check was."""
        if self._consequences:
            self._consequences.unknown.update(state)

    def facts(self) -> dict[str, Any]:
        """What they were worked out with, for the report; blank where there is none."""
        annotation = self._test.annotation
        row = MarkovTable.objects.filter(reference_id=self._test.reference_id).first() if self._chain else None
        return {
            "markov": f"{row}, fitted on the whole reference, forward strand" if row else "",
            "markov_sha256": row.sha256 if row else "",
            "annotation": annotation.name if annotation else "",
            "annotation_digest": annotation.digest if annotation else "",
            "consequence_tool": TOOL if annotation else "",
            "consequence_unknown": dict(self._consequences.unknown) if self._consequences else {},
        }

    def _delta(self, change: Change) -> float | None:
        if self._chain is None or (change.ref + change.alt).strip("ACGT"):
            return None
        fetch = partial(self._reference.fetch, change.contig)
        return markov.delta(self._chain, fetch, change.position, change.ref, change.alt)
