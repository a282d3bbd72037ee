"""Problems that are sums of small elements, by sparse linear algebra; they know no mechanics.

elements    functions of a few unknowns, all of a family one function
sparsity    where the derivatives of their sums are in a matrix
banded      the factors of a matrix that is banded once it is ordered
equations   as many equations as unknowns, by Newton's method
program     a minimum under constraints; saddle and sqp, how it is found
numbering   which row of a problem is which
"""
