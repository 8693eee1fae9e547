"""Arrow's arrays of texts are those that pyarrow itself would make."""

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from traces import arrow_arrays


@given(st.lists(st.sampled_from(["s.d", "h1.rp0", "", "ä", "t 1"])))
def test_words_are_the_dictionary_that_pyarrow_makes(values: list[str]) -> None:
    made, theirs = (
        arrow_arrays.dictionary_texts(values),
        pa.array(values, pa.string()).dictionary_encode(),
    )
    assert made.type == theirs.type
    assert made.indices.equals(theirs.indices)
    assert made.dictionary.equals(theirs.dictionary)
