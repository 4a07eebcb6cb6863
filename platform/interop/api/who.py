"""Who asks, and what he may do here."""

from collections import defaultdict
from uuid import UUID

from ninja import Router

from accounts import selectors
from interop.api import shapes
from interop.api.security import ApiRequest, Token

router = Router(tags=["Token"])


@router.get("/me", response=shapes.MeShape, auth=Token())
def get_me(request: ApiRequest) -> shapes.MeShape:
    """The token, its owner, and what the two may do in which organisation."""
    actor, token = request.auth, selectors.token_in_use(request.auth)
    verbs: dict[UUID, list[str]] = defaultdict(list)
    for verb in sorted(actor.grants):
        for organisation in actor.organisations(verb):
            verbs[organisation].append(verb)
    named = selectors.organisations(verbs)
    return shapes.MeShape(
        id=token.owner_id,
        name=actor.name,
        token=token.prefix,
        token_name=token.name,
        scopes=token.scopes,
        expires_at=token.expires_at,
        organisations=[shapes.MembershipShape(organisation=shapes.Named.from_orm(found), verbs=verbs[found.pk]) for found in named],
    )
