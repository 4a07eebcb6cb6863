"""Baselines beside the scores to come: what a Markov chain makes of each change, and what the annotation says it does.

They belong to the items and not to a run: every run of an order is compared with the same ones. Worked out while the file is
checked, for all accepted changes of a batch together.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property, partial
from typing import Any, NamedTuple

from orders.intake import FastaReference, Verdict
from registry import annotation_files, files, markov
from registry.annotations.consequences import GIVEN_UP, NO_ANNOTATION, TOOL, UNKNOWN, Change, Consequences, Patience
from registry.models import MarkovTable, TestVersion


class Baseline(NamedTuple):
    """Of one accepted change; a sequence has none."""

    markov_delta: float | None  # nats
    consequence: str


NONE = Baseline(None, "")


class Baselines:
    """What the test version names: the chain fitted on its reference, and its annotation."""

    def __init__(self, test: TestVersion, reference: FastaReference, patience: Patience | None = None) -> None:
        self._test, self._reference = test, reference
        self._chain = markov.tables(test.reference_id)
        annotation = test.annotation
        if annotation:
            annotation_files.require(annotation)
        self._consequences = (
            Consequences(files.transcripts(annotation), files.fasta(test.reference), annotation.codes, patience)
            if annotation
            else None
        )

    def of(self, accepted: Sequence[Verdict]) -> list[Baseline]:
        """A baseline for each change, in their order."""
        changes = [Change(v.contig, v.position, v.ref, v.alt) for v in accepted]
        said = self._consequences.of(changes) if self._consequences else [NO_ANNOTATION] * len(changes)
        return [Baseline(self._delta(change), words) for change, words in zip(changes, said, strict=True)]

    def of_each(self, files: Sequence[Sequence[Verdict]]) -> list[list[Baseline]] | None:
        """The baselines of several files in one go; None where the annotation's tool gave some up, and each is to be seen alone."""
        found = iter(self.of([verdict for accepted in files for verdict in accepted]))
        each = [[next(found) for _ in accepted] for accepted in files]
        return None if any(one.consequence == GIVEN_UP for beside in each for one in beside) else each

    @property
    def state(self) -> dict[str, int]:
        """What was counted so far, for `resume`."""
        return dict(self._consequences.unknown) if self._consequences else {}

    def resume(self, state: Mapping[str, int]) -> None:
        """Go on counting where an interrupted check was."""
        if self._consequences:
            self._consequences.unknown.update(state)

    def facts_of(self, beside: Iterable[Baseline]) -> dict[str, Any]:
        """The same as `facts`, of one of several files."""
        unknown = Counter(one.consequence for one in beside if one.consequence.startswith(UNKNOWN))
        return {**self.facts(), "consequence_unknown": dict(unknown)}

    def facts(self) -> dict[str, Any]:
        """What they were worked out with, for the report; blank where there is none."""
        annotation, row = self._test.annotation, self._table
        return {
            "markov": f"{row}, fitted on the whole reference, forward strand" if row else "",
            "markov_sha256": row.sha256 if row else "",
            "annotation": annotation.name if annotation else "",
            "annotation_digest": annotation.digest if annotation else "",
            "consequence_tool": TOOL if annotation else "",
            "consequence_unknown": dict(self._consequences.unknown) if self._consequences else {},
        }

    @cached_property
    def _table(self) -> MarkovTable | None:
        rows = MarkovTable.objects.filter(reference_id=self._test.reference_id).defer("counts")
        return rows.first() if self._chain else None

    def _delta(self, change: Change) -> float | None:
        if self._chain is None or (change.ref + change.alt).strip("ACGT"):
            return None
        fetch = partial(self._reference.fetch, change.contig)
        return markov.delta(self._chain, fetch, change.position, change.ref, change.alt)
