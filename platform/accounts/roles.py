"""The role × verb table: the single source of who may do what, and the oracle of the access tests."""

from django.db import models


class Role(models.TextChoices):
    """What a person is in an organisation. One person may hold several."""

    REQUESTER = "requester", "Requester"
    ACCESSIONER = "accessioner", "Accessioner"
    ANALYST = "analyst", "Analyst"
    REVIEWER = "reviewer", "Reviewer"
    DIRECTOR = "director", "Laboratory director"
    MODEL_STEWARD = "model_steward", "Model steward"
    AUDITOR = "auditor", "Auditor"
    OPERATOR = "operator", "Operator"
    ADMINISTRATOR = "administrator", "Administrator"
    SERVICE = "service", "Service account"


class Verb(models.TextChoices):
    """What can be done. Values are stored in tests and tokens: never rename one."""

    PLACE = "place"
    STAT = "stat"
    PROMOTE = "promote"
    HOLD = "hold"
    CANCEL = "cancel"
    ASSIGN = "assign"  # take an order, give it to a colleague who may do so too, give it back
    RECEIVE_SPECIMEN = "receive_specimen"
    REJECT_SPECIMEN = "reject_specimen"
    EDIT_IDENTITY = "edit_identity"
    VIEW_ORDER = "view_order"  # state, progress, identity; scores only once released
    VIEW_UNRELEASED = "view_unreleased"  # scores before release
    INTERPRET = "interpret"  # write what the results mean
    REVIEW = "review"
    RELEASE_PRELIMINARY = "release_preliminary"
    SIGN_1 = "sign_1"
    SIGN_2 = "sign_2"
    CORRECT = "correct"
    DELIVER = "deliver"  # name who gets reports, send one again, keep that somebody was told otherwise
    MARK_CRITICAL = "mark_critical"  # say that a result is critical
    CALL_CRITICAL = "call_critical"  # call with it, and keep what was read back
    HOLD_VERSION_1 = "hold_version_1"
    HOLD_VERSION_2 = "hold_version_2"
    ROLLBACK_1 = "rollback_1"
    ROLLBACK_2 = "rollback_2"
    VIEW_ENGINE = "view_engine"
    DRAIN = "drain"
    VIEW_DRIFT = "view_drift"  # how outputs are distributed against when they were validated: counts, no patient
    KEEP_DRIFT = "keep_drift"  # freeze what they are measured against, answer calls
    VIEW_AUDIT = "view_audit"
    GRANT = "grant"  # people and their roles, and the sites of an organisation: whose address and zone reports carry
    EDIT_PROVIDERS = "edit_providers"  # who asks, and whom to call with a critical result
    BREAK_GLASS = "break_glass"
    EXPORT = "export"
    COMMENT = "comment"  # on an order that he sees
    ATTACH = "attach"  # files to it, and withdraw them
    REGISTER = "register"  # models, deployments, references, annotations, calibration tables
    OFFER_TEST = "offer_test"  # what a laboratory offers: tests, calendars, who is told of late work
    PROPOSE_VALIDATION = "propose_validation"  # of a test version for clinical use, and suspend it
    APPROVE_VALIDATION = "approve_validation"
    TELL_DELAY = "tell_delay"  # keep that somebody was told of a delay
    LATE_ENTRY = "late_entry"  # of an order taken on paper in a downtime, with its true times; tick what is to be reconciled
    DOWNTIME = "downtime"  # write down that a laboratory worked without the platform, and close that when all is reconciled
    VIEW_TURNAROUND = "view_turnaround"  # figures of all orders, no patient
    SET_RETENTION = "set_retention"  # how long a laboratory keeps its records
    LEGAL_HOLD = "legal_hold"  # see what is deleted next, and keep records from it
    ASK = "ask"  # a deployed model about plain sequences, and see what colleagues asked: no patient, no report


_R, _V = Role, Verb

TABLE: dict[Role, frozenset[Verb]] = {
    _R.REQUESTER: frozenset({_V.PLACE, _V.STAT, _V.CANCEL, _V.VIEW_ORDER, _V.COMMENT, _V.ATTACH, _V.BREAK_GLASS, _V.DELIVER}),
    _R.ACCESSIONER: frozenset(
        {
            _V.PLACE,
            _V.STAT,
            _V.RECEIVE_SPECIMEN,
            _V.REJECT_SPECIMEN,
            _V.EDIT_IDENTITY,
            _V.EDIT_PROVIDERS,
            _V.VIEW_ORDER,
            _V.CANCEL,
            _V.HOLD,
            _V.COMMENT,
            _V.ATTACH,
            _V.DELIVER,
            _V.CALL_CRITICAL,
            _V.TELL_DELAY,
            _V.LATE_ENTRY,
        }
    ),
    _R.ANALYST: frozenset(
        {
            _V.PLACE,
            _V.STAT,
            _V.PROMOTE,
            _V.HOLD,
            _V.CANCEL,
            _V.ASSIGN,
            _V.VIEW_ORDER,
            _V.VIEW_UNRELEASED,
            _V.INTERPRET,
            _V.VIEW_ENGINE,
            _V.EXPORT,
            _V.COMMENT,
            _V.ATTACH,
            _V.DELIVER,
            _V.CALL_CRITICAL,
            _V.TELL_DELAY,
            _V.VIEW_TURNAROUND,
            _V.ASK,
        }
    ),
    _R.REVIEWER: frozenset(
        {
            _V.PROMOTE,
            _V.HOLD,
            _V.ASSIGN,
            _V.VIEW_ORDER,
            _V.VIEW_UNRELEASED,
            _V.INTERPRET,
            _V.REVIEW,
            _V.RELEASE_PRELIMINARY,
            _V.SIGN_1,
            _V.CORRECT,
            _V.VIEW_ENGINE,
            _V.EXPORT,
            _V.COMMENT,
            _V.ATTACH,
            _V.DELIVER,
            _V.MARK_CRITICAL,
            _V.CALL_CRITICAL,
            _V.TELL_DELAY,
            _V.VIEW_TURNAROUND,
            _V.ASK,
        }
    ),
    _R.DIRECTOR: frozenset(
        {
            _V.PLACE,
            _V.STAT,
            _V.PROMOTE,
            _V.HOLD,
            _V.CANCEL,
            _V.ASSIGN,
            _V.VIEW_ORDER,
            _V.VIEW_UNRELEASED,
            _V.INTERPRET,
            _V.REVIEW,
            _V.RELEASE_PRELIMINARY,
            _V.SIGN_1,
            _V.SIGN_2,
            _V.CORRECT,
            _V.HOLD_VERSION_1,
            _V.HOLD_VERSION_2,
            _V.ROLLBACK_1,
            _V.ROLLBACK_2,
            _V.VIEW_ENGINE,
            _V.VIEW_DRIFT,
            _V.KEEP_DRIFT,
            _V.VIEW_AUDIT,
            _V.BREAK_GLASS,
            _V.EXPORT,
            _V.OFFER_TEST,
            _V.PROPOSE_VALIDATION,
            _V.APPROVE_VALIDATION,
            _V.COMMENT,
            _V.ATTACH,
            _V.DELIVER,
            _V.MARK_CRITICAL,
            _V.CALL_CRITICAL,
            _V.TELL_DELAY,
            _V.LATE_ENTRY,
            _V.DOWNTIME,
            _V.VIEW_TURNAROUND,
            _V.SET_RETENTION,
            _V.LEGAL_HOLD,
            _V.ASK,
        }
    ),
    _R.MODEL_STEWARD: frozenset(
        {
            _V.VIEW_ENGINE,
            _V.VIEW_DRIFT,
            _V.KEEP_DRIFT,
            _V.HOLD_VERSION_1,
            _V.ROLLBACK_1,
            _V.REGISTER,
            _V.PROPOSE_VALIDATION,
            _V.ASK,
        }
    ),
    _R.AUDITOR: frozenset({_V.VIEW_AUDIT, _V.EXPORT, _V.VIEW_TURNAROUND, _V.LEGAL_HOLD}),
    _R.OPERATOR: frozenset({_V.VIEW_ENGINE, _V.VIEW_DRIFT, _V.DRAIN, _V.DOWNTIME}),
    _R.ADMINISTRATOR: frozenset({_V.GRANT, _V.EDIT_PROVIDERS}),
    _R.SERVICE: frozenset({_V.PLACE, _V.STAT, _V.VIEW_ORDER}),
}

# What a program can be given a token for: what the interfaces do. Signing, releasing and rights stay with people at their pages.
FOR_PROGRAMS = frozenset(
    {_V.PLACE, _V.STAT, _V.PROMOTE, _V.HOLD, _V.CANCEL, _V.VIEW_ORDER, _V.VIEW_UNRELEASED, _V.ASK, _V.LATE_ENTRY}
)

# A service account is a program with a named human owner: these it never does, whatever the table says later.
NEVER_SERVICE = frozenset(
    {
        _V.ASSIGN,
        _V.INTERPRET,
        _V.REVIEW,
        _V.SIGN_1,
        _V.SIGN_2,
        _V.RELEASE_PRELIMINARY,
        _V.CORRECT,
        _V.DELIVER,
        _V.MARK_CRITICAL,
        _V.CALL_CRITICAL,
        _V.HOLD_VERSION_1,
        _V.HOLD_VERSION_2,
        _V.ROLLBACK_1,
        _V.ROLLBACK_2,
        _V.BREAK_GLASS,
        _V.DRAIN,
        _V.DOWNTIME,
        _V.LATE_ENTRY,
        _V.KEEP_DRIFT,
        _V.GRANT,
        _V.EDIT_PROVIDERS,
        _V.REGISTER,
        _V.OFFER_TEST,
        _V.PROPOSE_VALIDATION,
        _V.APPROVE_VALIDATION,
        _V.SET_RETENTION,
        _V.LEGAL_HOLD,
    }
)
