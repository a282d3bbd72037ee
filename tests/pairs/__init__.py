"""The table of pairs: every kind of system with every operation.

python -m tests.pairs                tries all of them and writes docs/matrix.md
python -m tests.pairs --units        tries them in twenty systems of units
"""
