%% background
card(0). card(1).
{suits}

red(C) :- suit(C, (diamonds; hearts)).
black(C) :- suit(C, (clubs; spades)).
odd(C) :- rank(C, R), R \ 2 = 1.
even(C) :- rank(C, R), R \ 2 = 0.
face(C) :- rank(C, R), R > {plain}.

% Of two cards, which has the lower rank or the earlier suit.
rank_before(C, D) :- rank(C, A), rank(D, B), A < B, C != D.
suit_before(C, D) :- suit(C, S), suit(D, T), order(S, A), order(T, B), A < B, C != D.

% The next rank or suit; the first comes after the last.
next_rank(C, D) :- rank(C, A), rank(D, B), B = A \ {ranks} + 1, C != D.
next_suit(C, D) :- suit(C, S), suit(D, T), order(S, A), order(T, B), B = (A + 1) \ 4, C != D.
%% bias
#modeh(fulfilled).
#modeb(red(const(card))).
#modeb(black(const(card))).
#modeb(odd(const(card))).
#modeb(even(const(card))).
#modeb(face(const(card))).
#modeb(not face(const(card))).
#modeb(rank_before(const(card), const(card))).
#modeb(suit_before(const(card), const(card))).
#modeb(next_rank(const(card), const(card))).
#modeb(next_suit(const(card), const(card))).
#constant(card, 0).
#constant(card, 1).
#maxv(0).
#bias("penalty(1, head).").
#bias("penalty(1, body(X)) :- in_body(X).").
%% hidden_order
fulfilled :- rank(0,A), rank(1,B), A < B.
fulfilled :- suit_before(0,1).
%% hidden_modulo
fulfilled :- next_rank(0,1).
fulfilled :- next_suit(0,1).
%% color_parity
fulfilled :- odd(0), black(1).
fulfilled :- even(0), red(1).
%% alternating_faces
fulfilled :- face(0), not face(1).
fulfilled :- face(1), not face(0).
%% alternating_parity
fulfilled :- odd(0), even(1).
fulfilled :- even(0), odd(1).
%% increase_suits
fulfilled :- next_suit(0,1).
%% suit_order
fulfilled :- suit_before(0,1).
%% rank_order
fulfilled :- rank(0,A), rank(1,B), A < B.
