"""From Arrow to pandas: the one conversion at the end of every route, so that dtypes match whichever ran."""

from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from workbench.interface.walk import Choice
from workbench.tables.columns import Column

TEXT: Any = pd.StringDtype("pyarrow", na_value=np.nan)
WHOLE: Any = pd.Int64Dtype()
REAL: Any = pd.Float64Dtype()
FLAG: Any = pd.BooleanDtype()
TIME: Any = pd.DatetimeTZDtype("us", "UTC")
ARROW: Any = pd.ArrowDtype


def to_pandas(values: Any, column: Column | None = None) -> Any:
    """Return the pandas array of an Arrow column.

    Text is `str`, whole numbers Int64, flags boolean, times datetime64[us, UTC], days and decimals Arrow's own; a
    member of an enum is a category, the known values first and in their order, those unknown after them.
    """
    kind = values.type
    if column is not None and isinstance(column.kind, Choice) and not column.many:
        return _category(values, [str(one.value) for one in column.kind.of])
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return TEXT.__from_arrow__(values)
    if pa.types.is_int64(kind):
        return WHOLE.__from_arrow__(values)
    if pa.types.is_float64(kind):
        return REAL.__from_arrow__(values)
    if pa.types.is_boolean(kind):
        return FLAG.__from_arrow__(values)
    if pa.types.is_timestamp(kind):
        return TIME.__from_arrow__(values)
    return ARROW(kind).__from_arrow__(values)


def _category(values: Any, known: list[str]) -> Any:
    seen = [word for word in pc.unique(values).to_pylist() if word is not None]
    words = known + [word for word in seen if word not in known]
    codes = pc.fill_null(pc.index_in(values, value_set=pa.array(words, type=values.type)), -1)
    return pd.Categorical.from_codes(np.asarray(codes), dtype=pd.CategoricalDtype(words))
