"""Where blocks of rows are computed: in this process, or on a Dask cluster; same functions, same bytes.

A step that grows with the graphs is written as a function of one block. Its operands are *placed* once, and the
function is mapped over the blocks:

>>> import numpy as np
>>> from scipy import sparse as sp
>>> def block_times(matrix, first, last, vector):
...     return matrix[first:last] @ vector
>>> matrix, vector, engine = sp.eye(5, format="csr"), np.arange(5.0), InProcess(block_rows=2)
>>> with engine.placed(matrix, vector) as (placed, placed_vector):
...     blocks = engine.map(block_times, [(placed, *span, placed_vector) for span in engine.spans(5)])
>>> np.concatenate(blocks)
array([0., 1., 2., 3., 4.])

No number may depend on how rows are cut into blocks: a row's result comes from that row alone, and what is added up
over blocks are whole numbers.
"""

from dualmatch.engine.blocks import Engine, Spans, spans_of
from dualmatch.engine.in_process import InProcess

__all__ = ["Engine", "InProcess", "Spans", "spans_of"]
