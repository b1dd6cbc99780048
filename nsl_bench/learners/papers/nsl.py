"""Named presets: learners with a paper's settings. A preset makes the learner itself, with other defaults.

NSL paper: Cunnington, Law, Russo, Lobo: "NSL: Hybrid Interpretable Learning From Noisy Raw Data", 2020. Its
random forest is `random_forest` with its default settings.
"""

from __future__ import annotations

from nsl_bench.learners.d2k import Penalty
from nsl_bench.learners.ffnsl import FFNSL
from nsl_bench.learners.neural import CNNLSTM, FCN

__all__ = ["nsl", "nsl_cnn_lstm", "nsl_fnn"]


def nsl(
    penalty: Penalty = "network",
    constant: int = 10,
    rule_learner: str = "exact",
    time_limit: float | None = None,
) -> FFNSL:
    """FFNSL as in the NSL paper (2020): the least length of rules plus penalties of uncovered examples.

    An example's penalty is floor(100 c) + 1, with c the least confidence of its images (the Goedel t-norm),
    or constant in the paper's control. When rules are used, label probabilities come from the network's
    output as annotated disjunctions; every learner of rules gets them so.

    Args:
        penalty: an example's penalty comes from the network's confidence, or is constant.
        constant: the constant penalty.
        rule_learner: solver of the learning task; the paper's is ``fastlas``.
        time_limit: seconds for the rule learner; the best hypothesis so far is kept.
    """
    return FFNSL(rule_learner, penalty, constant, "goedel", time_limit)


def nsl_fnn(
    first: int = 12,
    hidden: int = 8,
    epochs: int = 150,
    batch: int = 10,
    learning_rate: float = 1e-3,
    dropout: float = 0.0,
    seed: int = 0,
) -> FCN:
    """The NSL paper's neural baseline on Zoo: layers of 12 and 8 units, ReLU, Adam, no dropout.

    Args:
        first: units of the first layer.
        hidden: units of the second layer.
        epochs: passes over the train set.
        batch: examples in a batch.
        learning_rate: learning rate of Adam; Keras' default, which the paper does not change.
        dropout: dropout after the first two layers.
        seed: seed of weights and dropout.
    """
    return FCN(hidden, dropout, epochs, learning_rate, seed, batch=batch, first=first)


def nsl_cnn_lstm(
    embedding: int = 32,
    channels: int = 32,
    hidden: int = 100,
    dropout: float = 0.2,
    epochs: int = 200,
    batch: int = 32,
    learning_rate: float = 1e-3,
    seed: int = 0,
) -> CNNLSTM:
    """The NSL paper's neural baseline on Sudoku: a convolution of width 3, padded, then an LSTM.

    Args:
        embedding: size of a concept's vector.
        channels: channels of the convolution.
        hidden: units of the LSTM.
        dropout: dropout before and after the LSTM.
        epochs: passes over the train set.
        batch: examples in a batch.
        learning_rate: learning rate of Adam; Keras' default, which the paper does not change.
        seed: seed of weights and dropout.
    """
    return CNNLSTM(
        embedding, channels, hidden, dropout, epochs, learning_rate, seed=seed, batch=batch, padded=True
    )
