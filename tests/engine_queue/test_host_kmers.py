"""What a tokenizer of six bases a token loses stands with the stored result, and on the page in words: a real engine and crew."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.template.loader import render_to_string

from engine_queue import lease
from engine_queue.crew import Crew
from engine_queue.host import Host
from engine_queue.models import Result, Run
from engine_queue.work import Ticket
from foundation.reasons import Reason
from orders import checking, estimates, uploads
from orders.models import Intake, Order
from registry.services import offer_test, register_deployment, register_model
from reports import result_table, selectors
from reports.content import parse
from tests.engine import published
from tests.engine.tokenizers import layouts
from tests.engine_queue.workers import wait_until
from tests.factories import BASES, SLA, make_laboratory, make_order, make_reference
from tests.reports import cases

NAME = "kmers"
UNKNOWN_AT = 1000  # 0-based, an N of the reference
LOST = {"item.bases-trimmed", "item.ambiguous-bases", "item.unknown-tokens"}


class Laboratory:
    """Serves one k-mer deployment, in this process."""

    def __init__(self, folder: Path) -> None:
        self.laboratory = make_laboratory()
        self.bases = f"{BASES[:UNKNOWN_AT]}N{BASES[UNKNOWN_AT + 1 :]}"
        model = register_model(name=NAME, version="1", folder=folder.name)
        self.test = offer_test(
            laboratory=self.laboratory, code=NAME, name=NAME, accepts=["vcf", "fasta"], reference=make_reference(self.bases),
            deployment=register_deployment(name=NAME, model_version=model, precision="fp32", pin={"threads": 2}),
            protocol={"kind": "centred", "window": 64, "strand": "forward"}, sla_minutes=SLA,
        )  # fmt: skip
        host = Host()
        host.load(NAME, folder, {"threads": 2, "self_test": False})
        self.crew = Crew(lease=lease.take_name("engine-1", kind="engine"), host=host, loaded=[NAME], credits=4, stat_credits=1)
        self.crew.start()

    def scored(self, text: str, name: str) -> Order:
        """An order on a file, checked, placed, computed and written."""
        actor = cases.actor_for(cases.make_user(role=cases.Role.ANALYST, organisation=self.laboratory))
        intake = uploads.start_intake(
            actor=actor, test_version=self.test, ordering_organisation_id=self.laboratory.pk, chunks=[text.encode()], filename=name
        )
        checking.check_intake(intake.pk)
        order = make_order(intake=Intake.objects.get(pk=intake.pk))
        for number in range(4):
            self.crew.offer(Ticket(number, f"task-{number}", False, lambda: None, NAME))
        wait_until(lambda: Run.objects.get(order_id=order.pk).state == "scored", 60)
        return Order.objects.get(pk=order.pk)

    def substitution(self, position: int) -> str:
        base = self.bases[position - 1]
        return f"contig1\t{position}\t.\t{base}\t{'C' if base == 'A' else 'A'}\t.\tPASS\t.\n"


@pytest.fixture
def serving(tmp_path: Path, clone_db: str, valkey_url: str, settings: Any) -> Iterator[Any]:
    settings.MODELS_DIR, settings.DATA_DIR = tmp_path / "models", tmp_path / "data"
    made: list[Laboratory] = []

    def serve(**config: Any) -> Laboratory:
        folder = published.GENERATOR.write(layouts.generator(tmp_path / "models" / NAME, **config))
        made.append(Laboratory(folder))
        return made[-1]

    yield serve
    for laboratory in made:
        laboratory.crew.stop()


def flags(order: Order) -> dict[int, set[str]]:
    """By ordinal."""
    return {r.item.ordinal: set(r.flags) for r in Result.objects.filter(run__order_id=order.pk).select_related("item")}


def page(order: Order) -> str:
    panel = selectors.results_panel(cases.analyst(order), order)
    return render_to_string("reports/_results.html", {"panel": panel, "order": order})


def test_what_is_lost_around_a_variant_is_stored_and_told_in_words(serving: Any) -> None:
    laboratory = serving()
    header = "##fileformat=VCFv4.2\n##contig=<ID=contig1,length=4000>\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n"
    places = [5, 500, UNKNOWN_AT + 2, UNKNOWN_AT + 14]  # at the contig's end, in the open, in the token of the N, and beside it
    order = laboratory.scored(header + "".join(map(laboratory.substitution, places)), "in.vcf")
    rounded = "item.window-rounded"
    assert flags(order) == {
        0: {rounded, "item.bases-trimmed", "item.window-cut-left"},
        1: {rounded},
        2: {rounded, "item.ambiguous-bases", "item.unknown-tokens", "item.equal-windows"},
        3: {rounded, "item.ambiguous-bases", "item.unknown-tokens"},
    }
    shown = page(order)
    assert all(f'title="{Reason(code).words}"' in shown for code in set.union(*flags(order).values()))
    notes = " ".join(result_table.results(parse(cases.drafted(order).content)).notes)
    assert Reason.ITEM_EQUAL_WINDOWS.words in notes and Reason.ITEM_WINDOW_ROUNDED.words in notes


@pytest.mark.parametrize(("bos", "said", "counted"), [(True, set(), 4), (False, {"item.first-token-unscored"}, 3)])
def test_a_sequence_says_how_many_tokens_counted_and_what_was_lost(serving: Any, bos: bool, said: set[str], counted: int) -> None:
    order = serving(add_bos_token=bos).scored(f">one\n{BASES[:14]}N{BASES[14:26]}\n", "in.fasta")  # 3 bases, and 4 tokens
    (result,) = Result.objects.all()
    assert (result.tokens, set(result.flags)) == (counted, LOST | said)
    assert all(f'title="{Reason(code).words}"' in page(order) for code in LOST | said)
    assert estimates.estimate(order.intake).tokens == Run.objects.get().tokens == 27 + 1
