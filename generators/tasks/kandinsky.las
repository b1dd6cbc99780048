%% background
object(1..3).
figure(F) :- shape(F,_,_).
same_shape(F,I,K) :- shape(F,I,S), shape(F,K,S), I != K.
same_colour(F,I,K) :- colour(F,I,C), colour(F,K,C), I != K.
other_shape(F,I,K) :- shape(F,I,S), shape(F,K,T), S != T.

% Of the three objects of a figure, how many have the same shape, and how many the same colour.
shapes(F,equal) :- same_shape(F,1,2), same_shape(F,2,3).
shapes(F,two) :- same_shape(F,I,K), other_shape(F,I,_).
shapes(F,none) :- figure(F), not same_shape(F,1,2), not same_shape(F,2,3), not same_shape(F,1,3).
colours(F,equal) :- same_colour(F,1,2), same_colour(F,2,3).
colours(F,two) :- same_colour(F,I,K), object(J), J != I, J != K, not same_colour(F,I,J).
colours(F,none) :- figure(F), not same_colour(F,1,2), not same_colour(F,2,3), not same_colour(F,1,3).
%% same_kind_bias
#modeh(broken).
#modeb(1, figure(var(figure)), (positive)).
#modeb(2, shapes(var(figure), var(share))).
#modeb(2, colours(var(figure), var(share))).
#maxv(3).
#bias("penalty(1, head).").
#bias("penalty(1, body(X)) :- in_body(X).").
%% pairs_bias
#modeh(broken).
#modeh(pair(var(figure))).
#modeb(1, figure(var(figure)), (positive)).
#modeb(1, pair(var(figure))).
#modeb(1, same_shape(var(figure), var(object), var(object)), (positive)).
#modeb(1, same_colour(var(figure), var(object), var(object)), (positive)).
#modeb(1, other_shape(var(figure), var(object), var(object)), (positive)).
#maxv(4).
#bias("penalty(1, head).").
#bias("penalty(1, body(X)) :- in_body(X).").
%% same_kind
broken :- shapes(V1,V2), figure(V3), not shapes(V3,V2).
broken :- colours(V1,V2), figure(V3), not colours(V3,V2).
%% pairs
pair(V1) :- same_shape(V1,V2,V3), same_colour(V1,V2,V3), other_shape(V1,V2,V4).
broken :- figure(V1), not pair(V1).
%% inputs
1 {{ shape(F,K,({shapes})) }} 1 :- F = 1..{figures}, K = 1..3.
1 {{ colour(F,K,({colours})) }} 1 :- F = 1..{figures}, K = 1..3.
