"""Systems and motions that several files of tests share."""

import numpy as np

X = np.array([0.3, -1.2, 0.7])
