"""Images of Eleusis: letters for suits and digits for ranks, in the colour of the suit."""
