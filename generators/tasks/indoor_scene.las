%% bias
label_type(0).
label_type(1).
label_type(2).
label_type(3).
label_type(4).

#modeh(label(const(label_type))).
#modeb(1, image(const(image))).
#bias("penalty(1, head).").
#bias("penalty(1, body(X)) :- in_body(X).").
