%% bias
#modeh(positive).
#modeb(2, has(const(feature))).
#modeb(1, not has(const(feature))).
{constants}
#maxv(0).
#bias("penalty(1, head).").
#bias("penalty(1, body(X)) :- in_body(X).").
