%% background
number(I,D) :- digit(I,D), I \ 2 = 1.
act(I,A) :- sign(I,O), I \ 2 = 0, does(O,A).
loose(I) :- act(I,add).
loose(I) :- act(I,subtract).

% The product that ends at a number: a numerator and a denominator, and whether it is added (1) or not (-1).
term(1,D,1) :- number(1,D).
term(I,D,1) :- number(I,D), loose(I-1).
term(I,P*D,Q) :- number(I,D), act(I-1,multiply), term(I-2,P,Q).
term(I,P,Q*D) :- number(I,D), act(I-1,divide), term(I-2,P,Q).
turn(1,1) :- number(1,_).
turn(I,1) :- number(I,_), act(I-1,add).
turn(I,-1) :- number(I,_), act(I-1,subtract).
turn(I,F) :- number(I,_), act(I-1,multiply), turn(I-2,F).
turn(I,F) :- number(I,_), act(I-1,divide), turn(I-2,F).

% The sum of the products before it.
before(1,0,1) :- number(1,_).
before(I,A,B) :- number(I,_), act(I-1,multiply), before(I-2,A,B).
before(I,A,B) :- number(I,_), act(I-1,divide), before(I-2,A,B).
before(I,A*Q+F*P*B,B*Q) :- number(I,_), loose(I-1), before(I-2,A,B), turn(I-2,F), term(I-2,P,Q).

followed(I) :- number(I,_), sign(I+1,_).
total(A*Q+F*P*B,B*Q) :- number(I,_), not followed(I), before(I,A,B), turn(I,F), term(I,P,Q).
{fractions}
value(N,D) :- total(A,B), fraction(N,D), A*D = N*B.
%% bias
#modeh(does(const(symbol), const(action))).
#constant(symbol, plus).
#constant(symbol, minus).
#constant(symbol, times).
#constant(symbol, div).
#constant(action, add).
#constant(action, subtract).
#constant(action, multiply).
#constant(action, divide).
#maxv(0).
#bias("penalty(1, head).").
#bias("penalty(1, body(X)) :- in_body(X).").
%% rule
does(plus,add).
does(minus,subtract).
does(times,multiply).
does(div,divide).
%% inputs
1 {{ digit(I,1..9) }} 1 :- I = 1..{length}, I \ 2 = 1.
1 {{ sign(I,({operators})) }} 1 :- I = 1..{length}, I \ 2 = 0.
