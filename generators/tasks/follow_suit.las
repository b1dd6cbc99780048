%% background
{suits}
{ranks}
{values}
player(1..{players}).

% P1's card is of a higher rank than P2's.
rank_higher(P1, P2) :- card(P1, R1, _), card(P2, R2, _), rank_value(R1, V1), rank_value(R2, V2), V1 > V2.

% The suit of a player's card.
suit(P1, S) :- card(P1, _, S).
%% bias
P(X) :- Q(X), identity(P, Q).
P(X) :- player(X), not Q(X), inverse(P, Q).
#modem(2, inverse(target/1, invented/1)).
#modem(2, identity(target/1, invented/1)).
#predicate(target, winner/1).
#predicate(invented, p1/1).
{constants}
#modeh(p1(var(player))).
#modeb(1, var(suit) != var(suit)).
#modeb(1, suit(var(player), var(suit)), (positive)).
#modeb(1, suit(const(player), var(suit)), (positive)).
#modeb(1, rank_higher(var(player), var(player)), (positive)).
%% rule
winner(X) :- player(X), not p1(X).
p1(V1) :- suit(1, V2), suit(V1, V3), V2 != V3.
p1(V1) :- rank_higher(V2, V1), suit(1, V3), suit(V2, V3).
