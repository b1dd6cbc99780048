%% background
% A field has one yield.
:- yield(X), yield(Y), X < Y.

yield_type(0).
yield_type(1).
yield_type(2).
%% bias
#modeh(yield(const(yield_type))).
#modeb(1, location(const(location))).
#modeb(1, species(const(species))).
#modeb(1, disease(const(disease))).
#bias("penalty(1, head).").
#bias("penalty(1, body(X)) :- in_body(X).").
