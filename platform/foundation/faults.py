"""A fault of ours, told to a person: a short reference on his page, and under it in the log what happened."""

import secrets

import structlog

log = structlog.get_logger(__name__)
LETTERS = "23456789ABCDEFGHJKLMNPQRSTUVWXYZ"  # none that are taken for one another when they are read out on the telephone
LENGTH = 8


def noted(event: str, error: BaseException | None) -> str:
    """Write the fault to the log and give its reference, such as `7KQM-2XWD`: 40 bits by chance, nothing of the request."""
    drawn = "".join(secrets.choice(LETTERS) for _ in range(LENGTH))
    reference = f"{drawn[:4]}-{drawn[4:]}"
    log.error(event, reference=reference, exc_info=error or True)
    return reference
