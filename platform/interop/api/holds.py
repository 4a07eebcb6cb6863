"""What two people say of a hold."""

from interop.api.shapes import Given, HoldGiven, Line300


class HoldAsked(HoldGiven):
    """Why an order should wait that only two people hold, as a code, and in words where there is more to say."""

    words: Line300 = ""


class HoldAnswered(Given):
    """What the second person says, and why, in words."""

    agree: bool
    words: Line300
