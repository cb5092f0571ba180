"""What the name of a column suggests: protected attributes, past events, and which way is better.

Words are English, German, Spanish and French, without accents. Proposals, never rules: whoever
uses them says so, and an action space that was declared is not looked at.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import Literal

from ract.data.actions.feature import Feature

IDENTIFIER = "an identifier"


@dataclass(frozen=True)
class Hint:
    """What some words mean.

    Parameters
    ----------
    meaning : str
    words : str
        That are words of a name.
    stems : str
        That a name contains, with nothing between its words.
    unless : str
        Words beside which it means something else.
    """

    meaning: str
    words: str = ""
    stems: str = ""
    unless: str = ""

    def place(self, words: list[str]) -> int | None:
        """Where a name first has one of the words or stems; None if it has none."""
        if set(words) & set(self.unless.split()):
            return None
        joined, start, places = "".join(words), 0, []
        for word in words:
            if word in self.words.split():
                places.append(start)
            start += len(word)
        places += [at for stem in self.stems.split() if (at := joined.find(stem)) >= 0]
        return min(places, default=None)


_THINGS = (
    "account accounts car vehicle auto loan credit trade trades file house home building policy "
    "debt kredit konto fahrzeug coche vivienda cuenta compte voiture oldest"
)
PROTECTED = (
    Hint("birth", "dob yob born", "birth geburt nacimiento naissance"),
    Hint("age", "age ages alter edad agegroup", unless=_THINGS),
    Hint("sex or gender", "sex male female man woman genero genre sexo sexe hombre mujer homme "
         "femme mann frau", "gender geschlecht"),
    Hint("nationality or origin", "foreign foreigner origin", "nationalit nacionalidad citizen "
         "staatsang immigra migrant foreignwork extranjer etranger auslander auslaender"),
    Hint("race or ethnicity", "race black white asian hispan caucasian latino raza",
         "ethnic ethni hispanic"),
    Hint("religion", "faith", "religi konfession"),
    Hint("marital status", "married single divorced widowed verheiratet ledig marie mariee",
         "marital familienstand estadocivil etatcivil civilstatus matrimoni"),
    Hint("family", "children kids kinder dependents dependants hijos enfants",
         "numberofdependents personasacargo personnesacharge familysize unterhaltspflicht"),
    Hint("disability or health", "disabled pregnant",
         "disabilit pregnan behinder schwanger discapac handicap embaraz enceinte"),
    Hint("public assistance", "welfare", "publicassistance sozialhilfe burgergeld buergergeld"),
)  # fmt: skip
_FIXED = (*PROTECTED, Hint(IDENTIFIER, "id ids uuid guid ssn iban passport",
                           "kundennummer kundennr rownames"))  # fmt: skip

PAST = (
    Hint("time since a past event, which passes by itself", "since"),
    Hint("a past event or a count of them, which nobody can undo",
         "late past ever never missed default defaults defaulted prior priors previous history "
         "records juv jail crime charge mora retraso retrasos impago impagos historial retard "
         "retards incident incidents impaye impayes antecedentes",
         "delinq delq latepayment overdue pastdue arrear bankrupt foreclos repossess derog "
         "chargeoff collection judgment judgement inquir enquir convict arrest offense offence "
         "misdemeanor felon inqlast infile credithistory verzug ruckstand rueckstand mahnung "
         "insolvenz pfandung pfaendung zahlungsausfall vorstraf historie morosid incumplim "
         "bancarrota faillite impaye retarddepaiement historique", unless="ratio"),
)  # fmt: skip

Way = Literal["increase", "decrease"]

_BETTER: tuple[tuple[Way, Hint], ...] = (
    ("increase", Hint(
        "more of it helps",
        "income incomes salary salaries wage wages earnings revenue revenues savings saving "
        "deposit deposits assets wealth equity collateral guarantor guarantors cosigner tenure "
        "seniority education downpayment lohn gehalt ersparnisse vermogen vermoegen burge buerge "
        "sicherheiten eigenkapital anzahlung bildung salario sueldo nomina ahorro ahorros "
        "patrimonio activos aval avalista educacion estudios enganche salaire epargne apport "
        "patrimoine actifs garant caution diplome score",
        "einkommen gehalt ersparnis guthaben ingreso revenu yearsemployed employmentlength "
        "yearsatwork beschaftigungsdauer beschaeftigungsdauer betriebszugehor antiguedad "
        "anciennete downpayment",
    )),
    ("decrease", Hint(
        "less of it helps",
        "debt debts dti liabilities liability obligations utilization utilisation expenses "
        "expense burden overdraft unemployed unemployment existingloans schuld "
        "arbeitslos arbeitslosigkeit auslastung deuda deudas gasto gastos "
        "desempleado desempleada desempleo parado paro prestamos dette dettes depenses "
        "charges chomage chomeur emprunts",
        "schulden verbindlichkeiten ausgaben kreditbetrag kreditsumme kredithohe kredithoehe "
        "darlehen loanamount creditamount existingloans endeudamiento endettement overdraft "
        "uberziehung ueberziehung utilization utilisation unemploy",
    )),
)  # fmt: skip

# Amounts that people ask for, if the name says nothing else.
_REQUESTED = {"amount", "betrag", "importe", "monto", "montant"}

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


def words_of(name: str) -> list[str]:
    """The words of a name, in small letters and without accents.

    >>> words_of("AgeInYears"), words_of("Kredithöhe"), words_of("année_de_naissance")
    (['age', 'in', 'years'], ['kredithohe'], ['annee', 'de', 'naissance'])
    """
    parts = unicodedata.normalize("NFKD", name.replace("ß", "ss"))
    plain = "".join(letter for letter in parts if not unicodedata.combining(letter))
    return [word.lower() for word in _WORD.findall(plain)]


def _meaning(name: str, hints: tuple[Hint, ...]) -> str | None:
    words = words_of(name)
    return next((hint.meaning for hint in hints if hint.place(words) is not None), None)


def fixed_by_name(name: str) -> str | None:
    """What a name says that nobody can be asked to change; None if it says no such thing.

    >>> fixed_by_name("AgeInYears"), fixed_by_name("date_of_birth"), fixed_by_name("mileage")
    ('age', 'birth', None)
    """
    return _meaning(name, _FIXED)


def past_by_name(name: str) -> str | None:
    """That a name speaks of the past, in words; None if it does not.

    >>> past_by_name("MSinceMostRecentDelq")
    'time since a past event, which passes by itself'
    """
    return _meaning(name, PAST)


def better_way(name: str) -> Way | None:
    """Which way a change is for the better, by its name: the first word that says so.

    >>> better_way("Monatseinkommen"), better_way("debt_to_income"), better_way("Purpose")
    ('increase', 'decrease', None)
    """
    words = words_of(name)
    if len(words) == 1 and words[0] in _REQUESTED:
        return "decrease"
    places = {way: hint.place(words) for way, hint in _BETTER}
    found = {way: place for way, place in places.items() if place is not None}
    return min((place, way) for way, place in found.items())[1] if found else None


_TIMES: tuple[tuple[str, Hint], ...] = (
    ("year", Hint("years", "year years yrs age alter jahre anos annees", "yearsemployed",
                  unless=f"{_THINGS} income salary revenue per number")),
    ("month", Hint("months", "month months since monate meses mois", unless="income salary per")),
)  # fmt: skip


def unit_of_time(name: str) -> str | None:
    """The unit in which a name counts time that passes: "year", "month" or None.

    >>> unit_of_time("Age"), unit_of_time("MonthsSinceDelay"), unit_of_time("MonthlyIncome")
    ('year', 'month', None)
    """
    found = [unit for unit, hint in reversed(_TIMES) if hint.place(words_of(name)) is not None]
    return found[0] if found else None


def fixed_feature(feature: Feature) -> str | None:
    """What nobody can be asked to change, by the name of a feature or of a column of its group."""
    names = (feature.name, *feature.columns)
    return next((reason for reason in map(fixed_by_name, names) if reason is not None), None)


def protected_feature(feature: Feature) -> str | None:
    """The protected attribute that a feature is, by its name; None if it is none.

    >>> protected_feature(Feature("Geschlecht")), protected_feature(Feature("Income"))
    ('sex or gender', None)
    """
    names = (feature.name, *feature.columns)
    return next((found for name in names if (found := _meaning(name, PROTECTED))), None)
