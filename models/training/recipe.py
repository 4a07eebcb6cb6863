"""What a training run does at each step, by the tokens read so far, so that it does not depend on the speed of the machine."""

from dataclasses import dataclass

from models.training.orfs import Frame
from models.training.windows import WindowSampler

SHORT, MIDDLE, LONG = 512, 1_024, 2_048  # bases a window
STEP_TOKENS = 8 * SHORT + 2 * MIDDLE + LONG


@dataclass(frozen=True)
class Recipe:
    """Warm-up, a constant rate on reading frames and genome 3:1, then a linear decay to nothing on reading frames alone.

    The whole genome teaches more sequence than the frames hold. But in it every gene ends, and a model that has just read it finds
    a stop codon less surprising. So while the rate falls half of the tokens, and in the last part all of them, come from windows
    that end before the stop codon, and at last a term of the loss keeps stops out of them: the model is asked where genes must not
    stop, not where they do.
    """

    tokens: int  # to read in all; may be changed while the rate is constant
    seed: int = 0
    peak_rate: float = 1e-3
    warmup_tokens: int = 40 * STEP_TOKENS
    decay_share: float = 0.6  # of the tokens, at the end
    closing_share: float = 0.316  # of the tokens, at the end, in which no window holds the stop codon of its frame
    stop_weight: float = 2.0  # of the term in `stops.py`, in the closing part
    weight_decay: float = 0.1
    clip: float = 1.0

    def rate(self, done: int) -> float:
        """The learning rate after `done` tokens."""
        left = (self.tokens - done) / (self.decay_share * self.tokens)
        return self.peak_rate * min(1.0, (done + STEP_TOKENS) / self.warmup_tokens, left)

    def decaying(self, done: int) -> bool:
        return 1 - done / self.tokens <= self.decay_share

    def closing(self, done: int) -> bool:
        return 1 - done / self.tokens <= self.closing_share

    def halves(self, sampler: WindowSampler, done: int) -> tuple[list[list[Frame]], list[list[Frame]]]:
        """The windows of one step in two halves of equal work, one for each core; each list has windows of one length."""
        short = sampler.inside_coding(8, SHORT) if self.closing(done) else sampler.inside_frames(8, SHORT)
        if self.decaying(done):
            return [short], [sampler.inside_coding(2, MIDDLE), sampler.inside_coding(1, LONG)]
        return [short], [sampler.inside_frames(2, MIDDLE), sampler.anywhere(1, LONG)]
