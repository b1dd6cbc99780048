%% logic_background
one(I) :- bit(I,1).
zero(I) :- bit(I,0).
%% logic_bias
#modeh(holds).
#modeb(8, one(const(place))).
#modeb(8, zero(const(place)), (positive)).
#constant(place, 1).
#constant(place, 2).
#constant(place, 3).
#constant(place, 4).
#constant(place, 5).
#constant(place, 6).
#constant(place, 7).
#constant(place, 8).
#maxv(0).
#max_body(8).
#bias("penalty(1, head).").
#bias("penalty(1, body(X)) :- in_body(X).").
%% math_background
% The sum and the product of two digits of an equation.
plus(E,I,J,A+B) :- digit(E,I,A), digit(E,J,B), I <= J.
times(E,I,J,A*B) :- digit(E,I,A), digit(E,J,B), I <= J.

% An equation that compares has the value 1 where it holds, else 0.
value(E,1) :- compared(E), holds(E).
value(E,0) :- compared(E), not holds(E).
%% math_bias
#modeb(2, plus(const(equation), const(place), const(place), var(number)), (positive)).
#modeb(2, times(const(equation), const(place), const(place), var(number)), (positive)).
#maxv(1).
#bias("penalty(1, head).").
#bias("penalty(1, body(X)) :- in_body(X).").
