
% two dialects differ in what they do without a word
#pos(eg(a)@3, {won(1)}, {won(2), won(3)}, {card(1,k,h). card(2,"10, 1",s).}).
#pos(b, {won(1)}, {}).
#neg({won(1)}, {}, {q(1..3). r(X) :- q(X), not s(X).}).
player(1..4). %* a
comment with #pos( in it *%
P(X) :- Q(X), identity(P, Q).
P(X) :- player(X), not Q(X), inverse(P, Q).
#modem(2, identity(target/1, invented/1)).
#modem(3, inverse(target/1, invented/1)).
#predicate(target, won/1).
#predicate(invented, p1/1).
#modeh(p1(var(player))).
#modeb(1, var(suit) != var(suit)).
#modeb(2, rank(var(player), const(rank)), (positive)).
#modeb(not held(f(var(player), 3))).
#constant(rank, k). #constant(rank, "10, 1").
4 ~ p1(X) :- player(X), X > 2.
#maxv(2).
#bias("penalty(1, head).").
