"""A Formal Framework for Understanding Length Generalization in Transformers (arXiv 2410.02140).

It says which tasks a transformer carries beyond the training length: those with a program in
C-RASP, a language of counting; with positions, one that also knows neighbours and periods.
"""

ARXIV = "arXiv 2410.02140"
