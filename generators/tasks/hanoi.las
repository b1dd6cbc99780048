%% background
peg(0..2).
step(T) :- disk(T,_,_,_).
next(T,T+1) :- step(T), step(T+1).

% The upper disk of a peg; a level is counted from the bottom.
covered(T,P,K) :- disk(T,P,K,_), disk(T,P,K+1,_).
top(T,P,D) :- disk(T,P,K,D), not covered(T,P,K).
busy(T,P) :- disk(T,P,_,_).

% The upper disk of P is smaller than that of Q, or Q is empty.
smaller(T,P,Q) :- top(T,P,D), top(T,Q,E), D < E.
smaller(T,P,Q) :- busy(T,P), peg(Q), not busy(T,Q).
least(T,P) :- smaller(T,P,Q), smaller(T,P,R), Q < R.

% The move between the pegs without the smallest disk.
aside(T,P,Q) :- smaller(T,P,Q), not least(T,P).

% The move before: the first step of a sequence is told, later ones follow from the rules.
before(T,P,Q) :- previous(T,P,Q).
before(T2,P,Q) :- next(T1,T2), move(T1,P,Q).
landed(T,Q) :- before(T,P,Q).
rested(T,R) :- before(T,P,Q), peg(R), R != Q.

% The pegs in a circle, and in the other direction.
onward(0,1). onward(1,2). onward(2,0).
back(P,Q) :- onward(Q,P).

% The label of a row is the move at its step.
move(P,Q) :- now(T), move(T,P,Q).
%% bias
#modeh(move(var(step), var(peg), var(peg))).
#modeb(1, least(var(step), var(peg)), (positive)).
#modeb(1, landed(var(step), var(peg)), (positive)).
#modeb(1, rested(var(step), var(peg)), (positive)).
#modeb(1, smaller(var(step), var(peg), var(peg)), (positive)).
#modeb(1, aside(var(step), var(peg), var(peg)), (positive)).
#modeb(1, onward(var(peg), var(peg)), (positive)).
#modeb(1, back(var(peg), var(peg)), (positive)).
#maxv(3).
#bias("penalty(1, head).").
#bias("penalty(1, body(X)) :- in_body(X).").
%% rule
move(V1,V2,V3) :- aside(V1,V2,V3), rested(V1,V2).
move(V1,V2,V3) :- least(V1,V2), rested(V1,V2), back(V2,V3).
