from sklearn.utils.estimator_checks import parametrize_with_checks

from ract import RecourseBoostingClassifier

DRAWN_ALIKE = {
    "check_sample_weight_equivalence_on_dense_data": (
        "parts and samples are drawn whatever people weigh, so a weight of two is no repeated row"
    )
}
SMALL = {"max_iter": 8, "min_samples_leaf": 5}
PLAIN = {"recourse_weight": 0, "subsample": 1.0, "max_features": None}


def expected_failures(estimator):
    return DRAWN_ALIKE if estimator.recourse_weight else {}


@parametrize_with_checks(
    [
        RecourseBoostingClassifier(**SMALL, n_replicates=2, n_members=2),
        RecourseBoostingClassifier(**SMALL, n_replicates=0),
        # Leaves of at least five people count repeated rows, which a weight is not.
        RecourseBoostingClassifier(**{**SMALL, "min_samples_leaf": 1}, **PLAIN),
    ],
    expected_failed_checks=expected_failures,
)
def test_scikit_learn_estimator_checks(estimator, check):
    check(estimator)
