"""The page on which a person makes and ends the tokens that programs act by in his name; and what the API's own page says."""

from dataclasses import dataclass
from typing import Any, cast

from django import forms

from accounts import tokens
from accounts.models import ApiToken
from accounts.roles import Verb
from accounts.tokens import InvalidToken
from foundation import clock, reasons
from foundation.actor import Actor

WORDS = {
    Verb.PLACE: "Upload files and place orders",
    Verb.STAT: "Place orders as STAT, or make them STAT",
    Verb.VIEW_ORDER: "Read orders, their progress, and released results",
    Verb.VIEW_UNRELEASED: "Read results before they are released",
    Verb.LATE_ENTRY: "Enter orders late, with the times of the paper they were taken on",
    Verb.CANCEL: "Cancel orders",
    Verb.HOLD: "Hold orders and let them go on",
    Verb.PROMOTE: "Make orders more or less urgent",
    Verb.ASK: "Ask models about plain sequences, and read what the laboratory asked",
}
LIVES = [(7, "7 days"), (30, "30 days"), (90, "90 days"), (180, "180 days"), (365, "one year")]


class TokenForm(forms.Form):
    """What is asked for; `accounts.tokens` decides whether it can be given."""

    name = forms.CharField(label="What is it for?", max_length=80, error_messages={"required": "Say what the token is for."})
    account = forms.ChoiceField(label="Who acts by it")
    scopes = forms.MultipleChoiceField(
        label="What it may do", widget=forms.CheckboxSelectMultiple, error_messages={"required": "Choose at least one thing."}
    )
    organisation = forms.ChoiceField(label="Where", required=False)
    days = forms.TypedChoiceField(label="It ends after", choices=LIVES, coerce=int, initial=tokens.DAYS)

    def __init__(self, actor: Actor, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.accounts = {str(account.pk): account for account in tokens.accounts_of(actor)}
        self.organisations = {str(one.pk): one for one in tokens.organisations_of(self.accounts.values())}
        offered = [verb for verb in WORDS if any(verb in tokens.scopes_for(account) for account in self.accounts.values())]
        self._choices("account", [(pk, account.name) for pk, account in self.accounts.items()])
        self._choices("scopes", [(verb.value, WORDS[verb]) for verb in offered])
        named = [(pk, one.name) for pk, one in self.organisations.items()]
        self._choices("organisation", [("", "wherever the account works"), *named])
        self.fields["name"].widget.attrs |= {"autocomplete": "off"}
        self.fields["account"].initial = str(actor.id)

    @property
    def offers(self) -> bool:
        """Whether there is anything that a token of this person could do."""
        return bool(cast(forms.ChoiceField, self.fields["scopes"]).choices)

    def _choices(self, name: str, choices: list[tuple[str, str]]) -> None:
        cast(forms.ChoiceField, self.fields[name]).choices = choices


@dataclass(frozen=True)
class Row:
    """One token in the list."""

    token: ApiToken
    may: str
    status: str  # revoked | expired | blank: it opens


@dataclass(frozen=True)
class TokenPage:
    """Everything the page shows."""

    form: TokenForm
    rows: list[Row]
    text: str = ""  # of a token that was made just now; shown this once
    made: ApiToken | None = None


def show(actor: Actor) -> TokenPage:
    """The empty form and the list."""
    return TokenPage(TokenForm(actor), _rows(actor))


def make(actor: Actor, data: Any) -> TokenPage:
    """Make a token; or the form again, with what has to be corrected."""
    form = TokenForm(actor, data)
    if not form.is_valid():
        return TokenPage(form, _rows(actor))
    said = form.cleaned_data
    try:
        token, text = tokens.create(
            actor=actor,
            owner=form.accounts[said["account"]],
            name=said["name"],
            scopes=said["scopes"],
            organisation=form.organisations.get(said["organisation"]),
            days=said["days"],
        )
    except InvalidToken as error:
        for field, words in error.fields.items():
            for one in words:
                form.add_error(field, one)
        return TokenPage(form, _rows(actor))
    return TokenPage(TokenForm(actor), _rows(actor), text, token)


def codes() -> list[tuple[str, str]]:
    """Every code that an answer may carry, with its words."""
    return sorted(reasons.WORDS.items())


def _rows(actor: Actor) -> list[Row]:
    now = clock.now()
    return [Row(token, _may(token), token.ended(now)) for token in tokens.kept_by(actor)]


def _may(token: ApiToken) -> str:
    said = [WORDS[verb] for verb in WORDS if verb in token.scopes]
    return "; ".join(words[0].lower() + words[1:] if place else words for place, words in enumerate(said))
