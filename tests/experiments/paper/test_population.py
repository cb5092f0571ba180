"""People as matrices."""

from experiments.paper.population import Population
from ract.data.encoder import Encoder
from tests.experiments.builders import made_up


def test_encoders_of_the_population_keep_the_order_of_the_columns():
    data = made_up()
    population = Population.of(data)
    assert population.names == tuple(data.frame.columns)
    assert len(population.separate) == 5 and len(population.grouped) == 4
    assert population.names == Encoder(data.frame, data.actions).column_names
