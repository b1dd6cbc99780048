%% background
step(T) :- digit(T,_,_).
next(T,T+1) :- step(T), step(T+1).

% The sum of a step's own digits: 10 or more, 9, and its last digit without and with 1 more.
total(T,A+B) :- digit(T,first,A), digit(T,second,B).
tens(T) :- total(T,S), S > 9.
nine(T) :- total(T,9).
units(T,S \ 10) :- total(T,S).
units_and_one(T,(S + 1) \ 10) :- total(T,S).

% The label of a row is the digit of the sum at its step.
sum(D) :- now(T), sum(T,D).
%% bias
#modeh(sum(var(step), var(digit))).
#modeh(carry(var(step))).
#modeb(1, units(var(step), var(digit)), (positive)).
#modeb(1, units_and_one(var(step), var(digit)), (positive)).
#modeb(1, next(var(step), var(step)), (positive)).
#modeb(1, tens(var(step)), (positive)).
#modeb(1, nine(var(step)), (positive)).
#modeb(1, carry(var(step))).
#maxv(2).
#bias("penalty(1, head).").
#bias("penalty(1, body(X)) :- in_body(X).").
%% rule
carry(V2) :- next(V1,V2), tens(V1).
carry(V2) :- next(V1,V2), nine(V1), carry(V1).
sum(V1,V2) :- units(V1,V2), not carry(V1).
sum(V1,V2) :- units_and_one(V1,V2), carry(V1).
%% sum_background
% A number also stands beside itself, so that a rule has to say which numbers it adds.
plus(A,B,A+B) :- number(_,A), number(_,B).
minus(A,B,A-B) :- number(_,A), number(_,B), A >= B.
times(A,B,A*B) :- number(_,A), number(_,B).
%% sum_notation_1
number(N,D) :- digit(N,1,D).
%% sum_notation_2
number(N,10*T+U) :- digit(N,2,T), digit(N,1,U).
%% sum_bias
#modeh(sum(var(total))).
#modeb(2, number(const(name), var(number)), (positive)).
#modeb(1, plus(var(number), var(number), var(total)), (positive)).
#modeb(1, minus(var(number), var(number), var(total)), (positive)).
#modeb(1, times(var(number), var(number), var(total)), (positive)).
#constant(name, first).
#constant(name, second).
#maxv(3).
#bias("penalty(1, head).").
#bias("penalty(1, body(X)) :- in_body(X).").
%% sum_rule
sum(V3) :- number(first,V1), number(second,V2), plus(V1,V2,V3).
