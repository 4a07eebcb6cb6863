"""The value sets that we enforce, in what is sent and in what is answered: FHIR libraries do not."""

PRIORITY = ("routine", "urgent", "asap", "stat")
GENDER = ("male", "female", "other", "unknown")
REQUEST_STATUS = ("draft", "active", "on-hold", "revoked", "completed", "entered-in-error", "unknown")
REQUEST_INTENT = (
    "proposal", "plan", "directive", "order", "original-order", "reflex-order", "filler-order", "instance-order", "option",
)  # fmt: skip
TASK_STATUS = (
    "draft", "requested", "received", "accepted", "rejected", "ready", "cancelled", "in-progress", "on-hold", "failed", "completed",
    "entered-in-error",
)  # fmt: skip
REPORT_STATUS = (
    "registered", "partial", "preliminary", "final", "amended", "corrected", "appended", "cancelled", "entered-in-error", "unknown",
)  # fmt: skip
OBSERVATION_STATUS = (
    "registered", "preliminary", "final", "amended", "corrected", "cancelled", "entered-in-error", "unknown",
)  # fmt: skip
IDENTIFIER_USE = ("usual", "official", "temp", "secondary", "old")
NAME_USE = ("usual", "official", "temp", "nickname", "anonymous", "old", "maiden")
BUNDLE_TYPE = (
    "document", "message", "transaction", "transaction-response", "batch", "batch-response", "history", "searchset", "collection",
)  # fmt: skip
ISSUE_SEVERITY = ("fatal", "error", "warning", "information")
ISSUE_TYPE = (
    "invalid", "structure", "required", "value", "invariant", "security", "login", "unknown", "expired", "forbidden", "suppressed",
    "processing", "not-supported", "duplicate", "multiple-matches", "not-found", "deleted", "too-long", "code-invalid", "extension",
    "too-costly", "business-rule", "conflict", "transient", "lock-error", "no-store", "exception", "timeout", "incomplete",
    "throttled", "informational",
)  # fmt: skip
