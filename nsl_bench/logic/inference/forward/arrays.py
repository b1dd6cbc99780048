"""The arrays that the compiled functions of the forward dynamic programme work on.

numba passes named tuples of arrays to compiled code as they are, so each compiled function takes the few
tuples that it needs. A *signal* is an atom in disjunctive normal form
(`nsl_bench.logic.inference.forward.dnf`). A
*suffix* is what is left of a term once its first literals have been met; the slots are read in one order, so
terms with equal ends share their suffixes. Sets of signals and suffixes are bits of uint64 words.
"""

from typing import Any, NamedTuple

Array = Any

KEYS = 1024
"""How many keys states have (`States.key`)."""


class Outcomes(NamedTuple):
    """What follows from the signals.

    Attributes:
        rules: int64 [rules, 4]: head, bound, and where the body starts and ends in `bodies`.
        bodies: int64 [literals, 3]: atom, whether it is positive, weight.
        components: int64 [components + 1, 2]: first rule, and whether the component is recursive.
        goals: int64 [labels]: the atom of each label, -1 for none, -2 for the label without one.
        n_signals: atoms 0 .. n_signals - 1 are signals.
        remembered: int64: atoms with rules whose truth a state has once their signals are forgotten.
        bit: int64 [atoms]: the place of signals and remembered atoms in the words of a state; -1 for others.
        asked: bool [atoms]: whether it is a goal or `violated`.
        rank: int64 [signals]: the first component with a rule that asks for the signal, so that what others
            are defined by is read before them; zeros where nothing can be forgotten.
        violated: the atom that is true if a constraint is violated, or -1.
        lower: uint8 [atoms + 1], scratch: which atoms are true whatever comes.
        upper: uint8 [atoms + 1], scratch: which atoms may still be true.
        frozen: int64 [components + 1], scratch: the place of the slot behind which what a component defines
            is remembered, and not derived any more.
    """

    rules: Array
    bodies: Array
    components: Array
    goals: Array
    n_signals: int
    violated: int
    remembered: Array
    bit: Array
    asked: Array
    rank: Array
    lower: Array
    upper: Array
    frozen: Array


class Program(NamedTuple):
    """A program for all examples.

    Attributes:
        term_start: int64 [terms + 1]: where the literals of each term start in `term_literal`.
        term_literal: int64: literals, as rows of `accept`.
        term_signal: int64 [terms]: the signal that the term makes true.
        literal_slot: int64 [literals]: the slot that each literal is about.
        accept: bool [literals, values]: the values with which a literal is true.
    """

    term_start: Array
    term_literal: Array
    term_signal: Array
    literal_slot: Array
    accept: Array


class Limits(NamedTuple):
    """Limits on the work for one example.

    Attributes:
        budget: float64 [n]: mass that an example may lose where its states become many.
        work: about how many steps from state to state may be taken before mass is dropped.
        most_kept: above this many states they are dropped whatever the budget.
        most_states: from so many joint states of the slots on, not all are given a place.
        most_words: uint64 words of a table of states; more where a slot has that many candidates.
        widest: float64 [n]: where no more mass than this was dropped, nothing is sampled.
        std_err: the standard error that the estimate of what was dropped should have.
        rollouts: at most so many of the dropped worlds are sampled; 0: none.
    """

    budget: Array
    work: float
    most_kept: int
    most_states: int
    most_words: int
    widest: Array
    std_err: float
    rollouts: int


class Results(NamedTuple):
    """Where the answers go.

    Attributes:
        low: float64 [n, outcomes]: mass of the worlds that were followed to their end.
        dropped: float64 [n]: mass of the others.
        sampled: float64 [n, outcomes]: an estimate of how `dropped` falls on the outcomes.
        variances: float64 [n, outcomes]: of `sampled`.
    """

    low: Array
    dropped: Array
    sampled: Array
    variances: Array


class Scratch(NamedTuple):
    """Arrays that every example fills anew.

    Attributes:
        value: int64 [slots, values]: the values that a slot can show, its candidates.
        chance: float64 [slots, values]: their probabilities.
        n_values: int64 [slots]: how many candidates a slot has.
        status: uint8 [literals]: 0 false, 1 true, 2 open.
        position: int64 [slots]: the place of a slot in the order.
        order: int64 [slots]: the slots that matter, in the order in which they are read.
        sorted: int64: the open literals of a term, in that order.
        literal: int64 [suffixes]: the first literal of a suffix.
        after: int64 [suffixes]: the suffix behind it; -1 - f if signal f is then true.
        signal: int64 [suffixes]: the signal of the suffix.
        bit: int64 [suffixes]: its bit in a state; -1 if it is a whole term.
        is_term: bool [suffixes]: whether it is a whole term, and so alive until its first slot is read.
        table: int64 [power of 2], hash table of suffixes; -1 is free.
        place: int64 [suffixes]: where a suffix stands in `table`.
        histogram: float64 [keys]: `States.histogram`.
        counts: int64 [keys]: `States.counts`.
    """

    value: Array
    chance: Array
    n_values: Array
    status: Array
    position: Array
    order: Array
    sorted: Array
    literal: Array
    after: Array
    signal: Array
    bit: Array
    is_term: Array
    table: Array
    place: Array
    histogram: Array
    counts: Array


class Steps(NamedTuple):
    """How a state changes when a slot is read; a state is its alive suffixes, then its true signals.

    Attributes:
        keep: uint64 [slots read, width]: all but the suffixes that begin with the slot.
        gain: uint64 [slots read, candidates, width]: what whole terms add.
        bit_start: int64 [slots read + 1]: the bits of the suffixes that begin with each slot.
        suffix: int64 [bits + 1]: the suffix of a bit.
        own: uint64 [bits of signal words, suffix words + 1]: the suffixes of a signal, dead once it is true.
        n_words: words of suffixes; those of signals come behind them.
        literal: `Scratch.literal`.
        after: `Scratch.after`.
        bit: `Scratch.bit`.
        accept: `Program.accept`.
        decides: bool [slots read + 1]: whether a slot can decide an outcome before all are read.
    """

    keep: Array
    gain: Array
    bit_start: Array
    suffix: Array
    own: Array
    n_words: int
    literal: Array
    after: Array
    bit: Array
    accept: Array
    decides: Array


class Folds(NamedTuple):
    """What may be forgotten once slots are read: signals that say nothing more than a later atom does.

    A signal is *settled* when no slot behind can make it true, and so is an atom that rules derive from
    settled atoms. Of those, only the ones count that a label or a rule of an atom that is not settled asks
    for.

    Attributes:
        kept: uint64 [slots read + 1, signal words]: the signals and remembered atoms that are not forgotten.
        settled: int64: components, in the order in which they are settled.
        start: int64 [slots read + 1]: where those that each slot settles start in `settled`.
        here: bool [slots read + 1]: whether more is forgotten there than before.
    """

    kept: Array
    settled: Array
    start: Array
    here: Array


class Residual(NamedTuple):
    """The slots of an example's residual program.

    Attributes:
        n_slots: how many slots are read.
        order: `Scratch.order`.
        value: `Scratch.value`.
        chance: `Scratch.chance`.
        n_values: `Scratch.n_values`.
        true: uint64 [signal words]: the signals that are true in every world; room for remembered atoms.
    """

    n_slots: int
    order: Array
    value: Array
    chance: Array
    n_values: Array
    true: Array


class Deciding(NamedTuple):
    """A signal whose truth decides the outcome: worlds in which one slot makes it true need no following.

    Attributes:
        signal: its number; -1 if there is none.
        outcome: what it decides.
        kills: uint64 [bits + 1]: the candidates that make it true where the suffix of the bit is alive.
        always: uint64 [slots read + 1]: the candidates of a slot that make it true in every state.
        killed: uint64 [slots read + 1], scratch: those that make it true in one state.
    """

    signal: int
    outcome: int
    kills: Array
    always: Array
    killed: Array


class States(NamedTuple):
    """The states before and after a slot is read.

    Attributes:
        capacity: how many states there is place for.
        soft: above this many states the least likely are dropped, within the budget.
        top: above this many states the least likely are dropped; `capacity` holds their successors.
        words: uint64 [capacity, width]: the states.
        mass: float64 [capacity]: their probabilities.
        new_words: uint64 [capacity, width]: their successors.
        new_mass: float64 [capacity].
        open: float64 [capacity]: what of `new_mass` is not decided by `Deciding`.
        key: int64 [capacity]: minus eight times the binary logarithm of `open`, in whole numbers.
        place: int64 [capacity]: where a successor stands in `table`.
        table: int32 [2 * capacity], hash table of successors; -1 is free.
        histogram: float64 [keys]: sums of `open` by key; zeros but in `drop`.
        counts: int64 [keys]: numbers of successors by key; likewise.
        word: uint64 [width], scratch: one state.
        next_word: uint64 [width], scratch: its successor.
    """

    capacity: int
    soft: float
    top: int
    words: Array
    mass: Array
    new_words: Array
    new_mass: Array
    open: Array
    key: Array
    place: Array
    table: Array
    histogram: Array
    counts: Array
    word: Array
    next_word: Array


class Example(NamedTuple):
    """All that is known of an example while its slots are read.

    Attributes:
        residual: its slots.
        steps: how states change.
        deciding: what need not be followed.
        folds: what may be forgotten.
        outcomes: what follows from signals.
        states: the states.
    """

    residual: Residual
    steps: Steps
    deciding: Deciding
    folds: Folds
    outcomes: Outcomes
    states: States
