%% bias
#modeh(invalid).
#modeb(digit(var(cell), var(num))).
{groups}#modeb(neq(var(cell), var(cell))).
{negative}#maxv(4).
#bias("penalty(1, head).").
#bias("penalty(1, body(X)) :- in_body(X).").
%% reduced_background
div_same1(X, Y, C) :- (X-1)/C = (Y-1)/C, idx1(X), idx1(Y), X < Y, quotient(C).
div_same2(X, Y, C) :- (X-1)/C = (Y-1)/C, idx2(X), idx2(Y), X < Y, quotient(C).
quotient(1..{most}).
idx1(1..{n}).
idx2(1..{n}).
num(1..{n}).
%% reduced_bias
#modeh(invalid).
#modeb(digit(var(idx1), var(idx2), var(num))).
#modeb(div_same1(var(idx1), var(idx1), const(quotient))).
#modeb(div_same2(var(idx2), var(idx2), const(quotient))).
{quotients}
#maxv(5).
#ground_without_replacement.
#bias("penalty(1, head).").
#bias("penalty(1, body(X)) :- in_body(X).").
