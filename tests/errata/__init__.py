"""One test for each entry of docs/errata.md: the corrected formula holds, the printed one does
not.
"""
