%% background
element(S,E) :- shows(S,_,E).
set(S) :- element(S,_).

% The sets of elements that may be a hitting set, as large as allowed.
{members}
candidate(C) :- member(C,_).
hits(C,S) :- member(C,E), element(S,E).
%% bias
#modeh(missed(var(candidate))).
#modeh(hitting_set).
#modeb(1, candidate(var(candidate)), (positive)).
#modeb(1, set(var(set)), (positive)).
#modeb(1, hits(var(candidate), var(set))).
#modeb(1, missed(var(candidate))).
#modeb(1, element(var(set), 1), (positive)).
#modeb(1, set(3), (positive)).
#maxv(2).
#bias("penalty(1, head).").
#bias("penalty(1, body(X)) :- in_body(X).").
%% rule
missed(V1) :- candidate(V1), set(V2), not hits(V1,V2).
hitting_set :- candidate(V1), not missed(V1).
%% constrained
missed(V1) :- candidate(V1), set(V2), not hits(V1,V2).
missed(V1) :- candidate(V1), set(3), element(V2,1).
hitting_set :- candidate(V1), not missed(V1).
%% inputs
{{ shows(S,K,1..{elements}) }} 1 :- S = 1..{images}, K = 1..{images}.
:- #count {{ S,K : shows(S,K,_) }} != {images}.
:- shows(S,K,_), K > 1, not shows(S,K-1,_).
:- shows(S,K,D), shows(S,K+1,E), D >= E.
:- shows(S,1,_), S > 1, not shows(S-1,1,_).
:- shows(S,1,D), shows(S+1,1,E), D > E.
lacks(S,T) :- element(S,E), set(T), not element(T,E).
:- set(S), set(T), S < T, not lacks(S,T), not lacks(T,S).
