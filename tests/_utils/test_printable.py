"""People's own text, made safe to show."""

from ract._utils.printable import formula_safe, printable


def test_what_terminals_obey_is_taken_out():
    assert printable("a\x1b[31m\u202eb\tc\n") == "a[31mb\tc\n"


def test_spreadsheets_run_no_text():
    unsafe = ["=1+1", "+cmd", "-x", "@sum", " =1"]
    assert [formula_safe(text) for text in unsafe] == [f"'{text}" for text in unsafe]
    assert [formula_safe(text) for text in ("-1.5", "+3", "Ann")] == ["-1.5", "+3", "Ann"]
