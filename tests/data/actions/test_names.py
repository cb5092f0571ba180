"""What names suggest, in four languages."""

import pytest

from ract import Feature
from ract.data.actions.names import better_way, fixed_by_name, past_by_name, protected_feature


@pytest.mark.parametrize(
    ("meaning", "names"),
    {
        "age": "Age AGE age_years Alter edad Âge AgeGroup",
        "birth": "date_of_birth Geburtsjahr fecha_nacimiento annee_naissance DOB",
        "sex or gender": "Sex gender Geschlecht sexo genero sexe",
        "nationality or origin": "Nationality Staatsangehoerigkeit nacionalidad nationalité "
        "foreign_worker Ausländer extranjero étranger",
        "marital status": "Marital Married Familienstand estado_civil etat_civil",
        "family": "children kinder hijos enfants NumberOfDependents personas_a_cargo",
        "religion": "Religion religión Konfession",
        "race or ethnicity": "race ethnicity raza",
        "disability or health": "disability Schwerbehinderung discapacidad handicap",
        None: "Income mileage average account_age CarAge credit_age_months Alternative Sussex "
        "Ausgaben stage manager Kindergeldbetrag",
    }.items(),
)
def test_protected_attributes(meaning, names):
    assert {name: protected_feature(Feature(name)) for name in names.split()} == dict.fromkeys(
        names.split(), meaning
    )


@pytest.mark.parametrize(
    ("way", "names"),
    {
        "increase": "Income monthly_income Monatseinkommen Nettogehalt Ersparnisse ingresos "
        "IngresosMensuales salario antigüedad revenu RevenuMensuel salaire épargne ancienneté "
        "YearsEmployed Guarantor Bürge",
        "decrease": "Debt DebtRatio debt_to_income Schulden Kreditbetrag Kredithöhe deuda deudas "
        "gastos desempleado dette endettement chômage unemployed arbeitslos LoanAmount Amount "
        "importe montant existing_loans expenses",
        None: "Purpose Region colour MaxPaymentAmount telephone",
    }.items(),
)
def test_which_way_is_better(way, names):
    assert {name: better_way(name) for name in names.split()} == dict.fromkeys(names.split(), way)


@pytest.mark.parametrize(
    ("is_past", "names"),
    {
        True: "LatePayments NumberOfTimes90DaysLate delinq_2yrs priors_count Zahlungsverzug "
        "Mahnungen Insolvenz impagos dias_mora retards incidents_paiement faillite "
        "MSinceOldestTradeOpen NumInqLast6M CreditHistory Records",
        False: "Income Debt Savings Plate template relate Price",
    }.items(),
)
def test_the_past_cannot_be_changed(is_past, names):
    assert {name: past_by_name(name) is not None for name in names.split()} == dict.fromkeys(
        names.split(), is_past
    )


def test_identifiers_and_groups():
    assert fixed_by_name("client_id") == "an identifier" and fixed_by_name("idle") is None
    group = Feature("who", columns=["race:Asian", "race:Other"])
    assert protected_feature(group) == "race or ethnicity"


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("Age", "age"), ("age_in_years", "age"), ("mileage", None), ("Average", None),
        ("Sex", "sex or gender"), ("personalStatusSex", "sex or gender"), ("man", "sex or gender"),
        ("DateOfBirth", "birth"), ("geburtsdatum", "birth"), ("DOB", "birth"),
        ("foreign_worker", "nationality or origin"), ("Nationality", "nationality or origin"),
        ("race", "race or ethnicity"), ("Ethnicity", "race or ethnicity"), ("terrace", None),
        ("religion", "religion"), ("Marital", "marital status"), ("married", "marital status"),
        ("customer_id", "an identifier"), ("ID", "an identifier"), ("paid", None), ("Income", None),
    ],
)  # fmt: skip
def test_names_that_say_what_nobody_can_change(name, reason):
    assert fixed_by_name(name) == reason
