"""Questions: plain sequences that somebody of a laboratory has scored, continued or embedded. Research use, no report."""
