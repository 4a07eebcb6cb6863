"""The nouns of the API's questions."""

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from ninja import Schema
from pydantic import Field

from interop.api.shapes import Estimate, Given, Line80, Named

KindName = Literal["score", "continue", "embed"]
PriorityName = Literal["asap", "urgent", "routine"]


class QuestionGiven(Given):
    """A question. Settings belong to a kind: `strand` to score, `pooling` to embed, the others to continue."""

    kind: KindName
    deployment: Line80 = Field(description="`name` of one that GET /deployments lists")
    text: Annotated[str, Field(max_length=800_000)] = Field(description="letters alone, an empty line between sequences, or FASTA")
    laboratory: UUID | None = Field(None, description="that asks; without it, the first one of yours")
    priority: PriorityName = Field("routine", description="never STAT; beyond routine it needs the right `promote`")
    strand: Literal["both", "forward", "reverse"] | None = Field(None, description="usually both")
    length: int | None = Field(None, description="bases to add to each sequence, usually 60")
    temperature: float | None = Field(None, description="usually 1; 0 always takes the likeliest token")
    top_k: int | None = Field(None, description="draw from as many of the likeliest tokens; 0: from all")
    samples: int | None = Field(None, description="continuations of each sequence, usually 1")
    seed: int | None = Field(None, description="the same question with the same seed has the same answer; without it one is drawn")
    pooling: Literal["mean", "last"] | None = Field(None, description="usually mean")


class DeploymentShape(Schema):
    """A deployed model that can be asked."""

    name: str
    model: str
    precision: str
    served: bool = Field(description="a worker that lives has it loaded")
    longest: int | None = Field(description="bases of the longest sequence that can be scored; null: not known yet")


class QuestionLine(Schema):
    """A question in a list."""

    id: UUID
    kind: KindName
    state: Literal["queued", "running", "scored", "cancelled"]
    use: str = Field(description="research use, no report")
    laboratory: Named
    asked_by: str
    deployment: str
    priority: PriorityName
    first_name: str
    sequences: int
    sequences_done: int
    bases: int
    asked_at: datetime
    due_at: datetime
    ended_at: datetime | None
    attention: str = Field(description="reason code of what a person has to look at; blank: nothing")


class QuestionShape(QuestionLine):
    """One question: what was asked, and how far it is."""

    model: str
    precision: str
    settings: dict[str, Any]
    tokens: int
    jobs_ahead: int | None = Field(description="jobs that start before its next; null: none of it waits")
    estimate: Estimate | None
    files: list[str]


class QuestionPage(Schema):
    """A page of questions, the newest first."""

    questions: list[QuestionLine]
    next: str | None


class AnswerShape(Schema):
    """What became of each sequence; which fields each has depends on the kind."""

    question: UUID
    use: str
    kind: KindName
    settings: dict[str, Any]
    model: str
    deployment: str
    precision: str
    sequences: list[dict[str, Any]]
