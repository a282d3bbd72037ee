"""Systems and motions that several files of tests share."""

from accion.formation import Graph

K33 = Graph(6, [(i, j) for i in range(3) for j in range(3, 6)])
