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
    a stop codon less surprising. So the last part reads windows inside frames, and half of its tokens end before the stop codon:
    the model is asked where genes must not stop, not where they do.
    """

    tokens: int  # to read in all; may be changed while the rate is constant
    seed: int = 0
    peak_rate: float = 1e-3
    warmup_tokens: int = 40 * STEP_TOKENS
    decay_share: float = 0.4  # of the tokens, at the end
    weight_decay: float = 0.1
    clip: float = 1.0

    def rate(self, done: int) -> float:
        """The learning rate after `done` tokens."""
        left = (self.tokens - done) / (self.decay_share * self.tokens)
        return self.peak_rate * min(1.0, (done + STEP_TOKENS) / self.warmup_tokens, left)

    def decaying(self, done: int) -> bool:
        return done >= (1 - self.decay_share) * self.tokens

    def halves(self, sampler: WindowSampler, done: int) -> tuple[list[list[Frame]], list[list[Frame]]]:
        """The windows of one step in two halves of equal work, one for each core; each list has windows of one length."""
        short = [sampler.inside_frames(8, SHORT)]
        if self.decaying(done):
            return short, [sampler.inside_coding(2, MIDDLE), sampler.inside_coding(1, LONG)]
        return short, [sampler.inside_frames(2, MIDDLE), sampler.anywhere(1, LONG)]
