% dialect: ilasp
#pos(e1@5, {valid}, {invalid}, {digit(1,1). digit(2,2).}).
#pos(e2@5, {invalid}, {valid}, {digit(1,3). digit(2,3).}).
#pos(e3@7, {invalid}, {valid}, {digit(1,2). digit(2,2).}).
#neg(e4, {both}, {}, {digit(1,1).}).
cell(1..2). num(1..4).
valid :- not invalid.
neq(X,Y) :- cell(X), cell(Y), X != Y.
#modeh(invalid).
#modeb(2, digit(var(cell),var(num))).
#modeb(1, neq(var(cell),var(cell))).
#maxv(3).
