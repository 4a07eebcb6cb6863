"""What is written and laid beside an order, on its page: comments and attached files."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.core.files.uploadedfile import UploadedFile

from casefile import attachments, comments, file_kinds, selectors
from casefile.errors import BadFile
from casefile.models import Attachment, Comment, FileKind
from foundation.actor import Actor
from foundation.errors import NotFound, Refused
from orders.errors import InvalidOrder
from orders.models import Order
from storage.services import path_of

Files = Mapping[str, "UploadedFile[Any]"]


class Damaged(Refused):
    """The stored file is not what was attached: its digest does not match. Tell your operator; nothing was handed out."""


@dataclass(frozen=True)
class Remark:
    """A comment as this person reads it."""

    comment: Comment
    correctable: bool  # by him

    @property
    def withdrawn_by(self) -> Comment | None:
        """The comment that stands in its place."""
        return getattr(self.comment, "withdrawn_by", None)


@dataclass(frozen=True)
class Paper:
    """An attached file as this person sees it."""

    attachment: Attachment
    readable: bool
    withdrawable: bool


def parts(actor: Actor, order: Order) -> dict[str, object]:
    """Everything of the two cards."""
    written = [Remark(one, _correctable(actor, one)) for one in selectors.comments(actor, order)]
    laid = [
        Paper(one, one.state == "kept", one.state == "kept" and attachments.may_withdraw(actor, one))
        for one in selectors.attachments(actor, order)
    ]
    return {"remarks": written, "papers": laid, **_offers(actor, order)}


def _offers(actor: Actor, order: Order) -> dict[str, object]:
    return {
        "may_comment": comments.may_comment(actor, order),
        "may_be_internal": comments.may_be_internal(actor, order),
        "internal": comments.may_be_internal(actor, order),  # unless somebody chooses otherwise
        "most": comments.MOST,
        "may_attach": attachments.may_attach(actor, order),
        "file_kinds": FileKind.choices,
        "file_limit": attachments.LIMIT,
    }


def _correctable(actor: Actor, comment: Comment) -> bool:
    return comment.author_id == actor.id and getattr(comment, "withdrawn_by", None) is None


def comment_form(actor: Actor, order: Order, data: Mapping[str, str]) -> dict[str, object]:
    """The page on which a comment is written or corrected; what was typed stays."""
    corrects = _corrected(actor, order, data)
    text = data.get("text", corrects.text if corrects else "")
    page = {"order": order, "corrects": corrects, "text": text, **_offers(actor, order)}
    return page | ({"internal": data.get("readers") == "internal"} if "readers" in data else {})


def write(actor: Actor, order: Order, data: Mapping[str, str]) -> Comment:
    """Keep what was typed. Raises `Refused` in words."""
    asked = data.get("readers", "internal" if comments.may_be_internal(actor, order) else "both")
    corrects = _corrected(actor, order, data)
    return comments.add(actor=actor, order=order, text=data.get("text", ""), internal=asked == "internal", corrects=corrects)


def _corrected(actor: Actor, order: Order, data: Mapping[str, str]) -> Comment | None:
    said = data.get("corrects", "")
    if not said:
        return None
    if not (said.isdecimal() and len(said) < 18):
        raise NotFound
    return selectors.comment_for(actor, order, int(said))


def lay(actor: Actor, order: Order, data: Mapping[str, str], files: Files) -> Attachment:
    """Attach the file that was sent. Raises `Refused` in words."""
    upload = files.get("file")
    if upload is None:
        raise BadFile(code="attachment.none")
    if upload.size is not None and upload.size > attachments.LIMIT:
        raise BadFile(f"The file is larger than {attachments.LIMIT // 1_000_000} MB.", code="file.too-large")
    return attachments.attach(
        actor=actor, order=order, name=upload.name or "", kind=data.get("kind", ""), chunks=lambda: _again(upload)
    )


def _again(upload: "UploadedFile[Any]") -> Any:
    upload.seek(0)
    return upload.chunks()


def attach_form(actor: Actor, order: Order, data: Mapping[str, str], error: Refused | None = None) -> dict[str, object]:
    """The page on which a file is attached."""
    return {"order": order, "kind": data.get("kind", ""), "errors": [str(error)] if error else [], **_offers(actor, order)}


def withdraw_form(actor: Actor, order: Order, pk: UUID, data: Mapping[str, str], error: Refused | None = None) -> dict[str, object]:
    """The page on which a file is withdrawn, as it stands now."""
    attachment = selectors.attachment_for(actor, order, pk)
    may = attachment.state == "kept" and attachments.may_withdraw(actor, attachment)
    said = error.fields.get("reason", []) if isinstance(error, InvalidOrder) else [str(error)] if error else []
    return {"order": order, "attachment": attachment, "may": may, "errors": said, "reason": data.get("reason", "")}


def download(attachment: Attachment) -> tuple[bytes, str]:
    """The bytes and the name they are given: ours, so that nothing of the person's own name reaches another computer.

    Raises `Damaged` where they are not those that were attached.
    """
    content = path_of(attachment.file.sha256).read_bytes()
    if hashlib.sha256(content).hexdigest() != attachment.file.sha256:
        raise Damaged(code="attachment.damaged")
    return content, f"{attachment.order.accession}-file-{attachment.number}.{file_kinds.ENDINGS[attachment.media_type]}"
