"""`offer_test`: what a model can never compute is refused before anybody can order it."""

from typing import Any

import pytest

from registry.errors import RegistrationRefused
from registry.models import TestVersion
from registry.services import inspected, offer_test
from tests.factories import make_test_version

pytestmark = pytest.mark.django_db


def offer(test: TestVersion, **protocol: Any) -> TestVersion:
    return offer_test(
        laboratory=test.definition.laboratory, code="another", name="Another", accepts=["vcf"], reference=test.reference,
        deployment=test.deployment, protocol={"kind": "centred", "strand": "forward", **protocol}, sla_minutes=test.sla_minutes,
    )  # fmt: skip


def of_model(token_bases: int | None) -> TestVersion:
    test = make_test_version()
    found = {"fingerprint": "f" * 64, "golden": "0" * 64, "token_bases": token_bases, "context": 512}
    inspected(test.deployment.model_version, found)
    return test


@pytest.mark.parametrize(
    ("protocol", "said"),
    [
        ({"window": -5}, "at least 2 bases"),
        ({"window": 64, "kind": "grid-centred"}, "needs a grid"),
        ({"window": 64, "grid": 8}, "no other protocol takes one"),
        ({"window": 64, "kind": "grid-centred", "grid": 33}, "half of the window"),
    ],
    ids=["window", "no grid", "grid", "large grid"],
)
def test_settings_that_contradict_each_other_are_refused_and_nothing_is_kept(protocol: dict[str, Any], said: str) -> None:
    test = make_test_version()
    with pytest.raises(RegistrationRefused, match=said):
        offer(test, **protocol)
    assert list(TestVersion.objects.all()) == [test]


@pytest.mark.parametrize("code", ["isolate panel", "", "a" * 41, "é", "a/b"])
def test_a_code_that_no_address_could_hold_is_refused(code: str) -> None:
    test = make_test_version()
    with pytest.raises(RegistrationRefused, match="is no code: letters, digits, dash and underscore, at most 40"):
        offer_test(
            laboratory=test.definition.laboratory, code=code, name="A", accepts=["vcf"], reference=test.reference,
            deployment=test.deployment, protocol=test.protocol, sla_minutes=test.sla_minutes,
        )  # fmt: skip


@pytest.mark.parametrize(
    ("token_bases", "protocol", "said"),
    [
        (None, {"window": 64, "kind": "right-end"}, "needs tokens of one width"),
        (6, {"window": 5}, "holds no token"),
        (6, {"window": 6 * 512 + 6}, "longer than"),
    ],
    ids=["byte pairs", "less than a k-mer", "longer than the context"],
)
def test_what_the_model_cannot_read_is_refused(token_bases: int | None, protocol: dict[str, Any], said: str) -> None:
    with pytest.raises(RegistrationRefused, match=said):
        offer(of_model(token_bases), **protocol)


@pytest.mark.parametrize(("token_bases", "window"), [(None, 2000), (6, 6 * 512), (6, 6)], ids=["byte pairs", "full", "one k-mer"])
def test_what_it_may_be_able_to_read_is_offered(token_bases: int | None, window: int) -> None:
    assert offer(of_model(token_bases), window=window).offered
