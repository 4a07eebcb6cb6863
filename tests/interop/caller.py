"""Programs that speak with the API, and a hospital and a laboratory for them."""

import json
from typing import Any
from uuid import UUID

from django.core.cache import cache
from django.test import Client

from accounts.models import User
from accounts.roles import Role
from orders import checking
from tests.dashboard.desk import vcf
from tests.factories import make_organisation, make_test_version, make_token, make_user

BASE = "/api/v1"
PATIENT = {"mrn": "88-1204", "family_name": "Okafor", "given_name": "Ngozi", "birth_date": "1961-03-14", "sex": "female"}
SPECIMEN = {"identifier": "S-7", "type": "Isolate", "source": "Blood culture", "collected_at": "2026-01-15T08:30:00+01:00"}


class Caller:
    """A program with a token."""

    def __init__(self, token: str) -> None:
        self.client = Client(raise_request_exception=False)
        self.token = token

    def get(self, path: str, **query: object) -> Any:
        return self.client.get(f"{BASE}{path}", query, headers=self._headers({}))

    def post(self, path: str, body: object = None, **headers: str) -> Any:
        said = "" if body is None else json.dumps(body)
        return self.client.post(f"{BASE}{path}", said, content_type="application/json", headers=self._headers(headers))

    def send(self, content: str | bytes, *, content_type: str = "text/plain", query: str = "", **headers: str) -> Any:
        said = {"data": content, "content_type": content_type, "headers": self._headers(headers)}
        return self.client.post(f"{BASE}/intakes?{query}", **said)

    def _headers(self, more: dict[str, str]) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}", **{name.replace("_", "-"): value for name, value in more.items()}}


class Site:
    """A hospital that orders and a laboratory that performs, and what is asked of them."""

    def __init__(self) -> None:
        cache.clear()  # of refused tokens
        self.test = make_test_version()
        self.laboratory = self.test.definition.laboratory
        self.hospital = make_organisation()

    def user(self, role: Role = Role.REQUESTER) -> User:
        return make_user(role=role, organisation=self.hospital if role in (Role.REQUESTER, Role.SERVICE) else self.laboratory)

    def caller(self, role: Role = Role.REQUESTER, *scopes: str) -> Caller:
        return Caller(make_token(self.user(role), *scopes))

    def upload(self, caller: Caller, content: str = "", *, checked: bool = True, **headers: str) -> str:
        """The id of an upload, checked."""
        answer = caller.send(content or vcf(300, 301, 302), query=f"test={self.test.pk}", **headers)
        assert answer.status_code == 201, answer.content
        pk: str = answer.json()["id"]
        if checked:
            checking.check_intake(UUID(pk))
        return pk

    def wanted(self, intake: str, **changes: object) -> dict[str, object]:
        return {"intake": intake, "patient": PATIENT, "specimen": SPECIMEN, "priority": "routine", **changes}

    def order(self, caller: Caller, **changes: object) -> dict[str, Any]:
        answer = caller.post("/orders", self.wanted(self.upload(caller), **changes))
        assert answer.status_code == 201, answer.content
        placed: dict[str, Any] = answer.json()
        return placed
