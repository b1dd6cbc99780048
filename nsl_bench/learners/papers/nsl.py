"""Named presets: learners with a paper's settings. A preset makes the learner itself, with other defaults.

NSL paper: Cunnington, Law, Russo, Lobo: "NSL: Hybrid Interpretable Learning From Noisy Raw Data", 2020. Its
random forest is `random_forest` with its default settings.
"""

from nsl_bench.learners.ffnsl import FFNSL
from nsl_bench.learners.neural import CNNLSTM, FCN


class nsl(FFNSL):
    """FFNSL as in the NSL paper (2020): the least length of rules plus penalties of uncovered examples.

    An example's penalty is floor(100 c) + 1, with c the least confidence of its images (the Goedel t-norm),
    or constant in the paper's control; ``penalty=floor`` is the paper's equation, without the 1. When rules
    are used, label probabilities come from the network's output as annotated disjunctions; every learner of
    rules gets them so. The paper's rule learner is ``fastlas``.
    """

    name = "nsl"
    offered = ("penalty", "constant", "rule_learner", "time_limit")


class nsl_fnn(FCN):
    """The NSL paper's neural baseline on Zoo: layers of 12 and 8 units, ReLU, Adam, no dropout.

    The learning rate is Keras' default, which the paper does not change.
    """

    name = "nsl_fnn"
    first, hidden, epochs, batch = 12, 8, 150, 10
    learning_rate, dropout = 1e-3, 0.0
    offered = ("first", "hidden", "epochs", "batch", "learning_rate", "dropout", "seed")


class nsl_cnn_lstm(CNNLSTM):
    """The NSL paper's neural baseline on Sudoku: a convolution of width 3, padded, then an LSTM.

    The learning rate is Keras' default, which the paper does not change.
    """

    name = "nsl_cnn_lstm"
    embedding, channels, hidden, dropout = 32, 32, 100, 0.2
    epochs, batch, learning_rate, padded = 200, 32, 1e-3, True
    offered = ("embedding", "channels", "hidden", "dropout", "epochs", "batch", "learning_rate", "seed")
