"""What a check of a certificate found: what agrees, what does not, and what was not checked."""

from __future__ import annotations

from dataclasses import dataclass, field

# What may stay unchecked in a certificate that is verified: nobody can tell when and by what a
# record was written; overlap and witnesses need a further file; of a cost of one's own, the class
# is compared.
MAY_BE_OPEN = frozenset({"date", "version", "overlap", "witnesses", "cost"})
NOBODY_CAN = ("date", "version")

_PROBLEMS = {
    "record": "The record is not as it was written",
    "model": "The model does not agree with the certificate",
    "data": "The data do not agree with the certificate",
    "question": "The certificate answers another question",
    "training": "The training table does not agree with the certificate",
    "witnesses": "The witness file does not agree with the certificate",
    "counts": "The counts do not agree with the certificate",
}


@dataclass(frozen=True)
class Verification:
    """What a check found. It is true if the certificate is verified.

    That is, nothing in it is wrong, and model, people, limits, counts, bounds and groups were all
    recomputed.

    Parameters
    ----------
    checked : tuple of str
        What was checked: "record" and, if they were given, "model", "data", "question", "training",
        "witnesses" and "counts".
    problems : dict
        By what is wrong: the reason.
    unchecked : dict
        By entry of the record that was not checked: the reason.
    notes : tuple of str
        How the counts were checked.
    silent : frozenset of str
        Entries without information: empty ones, and entries of earlier records that no check reads.

    Examples
    --------
    >>> print(Verification(("record", "model"), {"model": "it decides otherwise."}))
    The model does not agree with the certificate: it decides otherwise.
    >>> found = Verification(("record",), {}, {"everyone": "no people were given"})
    >>> print(found)
    Nothing contradicts the certificate, but it is not verified.
    Not checked: everyone (no people were given).
    >>> bool(found)
    False
    """

    checked: tuple[str, ...]
    problems: dict[str, str]
    unchecked: dict[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    silent: frozenset[str] = frozenset()

    def __bool__(self) -> bool:
        return not self.problems and self.unchecked.keys() <= MAY_BE_OPEN | self.silent

    @property
    def complete(self) -> bool:
        """Whether it is verified, and everything that can be checked was checked."""
        return bool(self) and self.unchecked.keys() <= {*NOBODY_CAN, *self.silent}

    def __str__(self) -> str:
        lines = [f"{_PROBLEMS[what]}: {why}" for what, why in self.problems.items()]
        if not lines:
            agrees = f"The certificate agrees with its {' and '.join(self.checked)}."
            none_wrong = "Nothing contradicts the certificate, but it is not verified."
            lines = [agrees if self else none_wrong]
        lines += self.notes
        if self.unchecked:
            by_reason: dict[str, list[str]] = {}
            for name, why in self.unchecked.items():
                by_reason.setdefault(why, []).append(name)
            parts = [f"{', '.join(names)} ({why})" for why, names in by_reason.items()]
            lines.append(f"Not checked: {'; '.join(parts)}.")
        return "\n".join(lines)
