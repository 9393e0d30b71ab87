"""What every unit promises, tested over whatever the registry finds.

A new unit is tested here before its author has written a test.
"""

from __future__ import annotations

import importlib
import pkgutil
from pathlib import Path
from typing import Any

import msgspec
import pytest
import situations
import vega_lite

from tare import registry, workloads
from tare.agent import record
from tare.experiment import file
from tare.experiment.catalogue import catalogue
from tare.experiment.file import file_kinds
from tare.experiment.findings.charts.chart import ChartUnit
from tare.features.tasks import file as task_file
from tare.registry import Description, Parameter
from tare.render import data, words
from tare.results.finding import Finding
from tare.wiring import SUPPLIES
from tare.workloads.specification import WorkloadSpec

EXAMPLES = Path(__file__).parents[2] / "examples"

UNITS = [
    (kind, name, unit)
    for kind in registry.PACKAGES
    for name, unit in registry.units_of(kind).items()
]
DESCRIPTIONS = [(f"{kind}/{name}", unit.description) for kind, name, unit in UNITS] + [
    (f"kernels/{name}", described) for name, described in catalogue().kernels.items()
]
PARAMETERS = [
    (f"{where}/{parameter.name}", parameter)
    for where, described in DESCRIPTIONS
    for parameter in described.parameters
]


def of(kind: str) -> list[Any]:
    """Return the units of a kind as parameters of a test."""
    return [pytest.param(unit, id=name) for name, unit in registry.units_of(kind).items()]


def modules(kind: str) -> dict[str, Any]:
    """Return the modules of a kind's packages by the name of their file."""
    return {
        module.name: importlib.import_module(f"{package}.{module.name}")
        for package in registry.PACKAGES[kind]
        for module in pkgutil.iter_modules(importlib.import_module(package).__path__)
    }


def named(pairs: list[tuple[str, Any]]) -> list[Any]:
    return [pytest.param(value, id=name) for name, value in pairs]


@pytest.mark.parametrize("kind", registry.PACKAGES)
def test_a_unit_is_called_as_its_file(kind: str) -> None:
    for name in registry.units_of(kind):
        assert name.replace("-", "_") in modules(kind)


@pytest.mark.parametrize("kind", registry.PACKAGES)
def test_no_two_units_of_a_kind_have_the_same_name(kind: str) -> None:
    units = [module.UNIT for module in modules(kind).values() if hasattr(module, "UNIT")]
    assert len(units) == len(registry.units_of(kind))


@pytest.mark.parametrize("described", named(DESCRIPTIONS))
def test_a_unit_says_what_it_is_and_what_it_answers(described: Description) -> None:
    assert described.title.strip()
    assert not described.title.endswith(".")
    assert "\n" not in described.title
    assert described.question.endswith("?")
    names = [parameter.name for parameter in described.parameters]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("parameter", named(PARAMETERS))
def test_a_parameter_is_explained_and_its_default_is_possible(parameter: Parameter) -> None:
    assert parameter.name.isidentifier()
    assert parameter.meaning.strip()
    assert not parameter.meaning.endswith(".")
    if parameter.default is not None:
        assert file_kinds.of(parameter).read(parameter.default) == parameter.default
    if parameter.minimum is not None and parameter.maximum is not None:
        assert parameter.minimum < parameter.maximum
    if parameter.maximum is not None:
        with pytest.raises(ValueError):  # noqa: PT011
            file_kinds.of(parameter).read(parameter.maximum + 1)
    if parameter.choices is not None:
        with pytest.raises(ValueError):  # noqa: PT011
            file_kinds.of(parameter).read("no such choice")


def test_workloads_are_found_by_what_they_have() -> None:
    made = [
        workloads.job(spec, {}, repetitions=1, seed=1, surroundings={})
        for spec in (
            WorkloadSpec(name="a", kernel="null"),
            WorkloadSpec(name="a", command=("true",)),
        )
    ]
    assert [type(job) for job in made] == [record.Kernel, record.Command]
    for job in made:
        assert msgspec.json.decode(msgspec.json.encode(job), type=record.Workload) == job


@pytest.mark.parametrize("name", catalogue().kernels)
def test_every_kernel_can_be_asked_for(name: str) -> None:
    text = f'[experiment]\nname = "a"\nquestion = "b?"\n[[workload]]\nkernel = "{name}"\n'
    asked = file.parse(text, "kernel.toml", catalogue())
    defaults = {p.name: p.default for p in catalogue().kernels[name].parameters}
    assert asked.workloads[0].parameters == defaults


@pytest.mark.parametrize("metric", catalogue().metrics.values(), ids=lambda metric: metric.name)
def test_every_metric_says_what_it_means_and_what_its_absence_means(metric: Any) -> None:
    assert metric.meaning.strip()
    assert metric.absence.strip()
    assert metric.sources
    assert all(source.meaning.strip() for source in metric.sources)
    for suffix in ("ns", "bytes"):
        if metric.name.endswith(f"_{suffix}"):
            assert metric.unit == suffix


@pytest.mark.parametrize("name", registry.units_of("finding"))
def test_a_finding_answers_in_a_situation(name: str) -> None:
    found = [
        one
        for situation in situations.NAMES
        for one in situations.findings(situation)
        if one.name == name and one.verdict != "nothing to compare"
    ]
    assert found, "tests/unit/situations.py has no situation in which it answers"
    for one in found:
        assert isinstance(one, Finding)
        assert words.paragraph(one.answer)
        assert words.text(one.question)
        # Messages come back as their texts.
        saved = data.builtins(one)
        read = msgspec.json.decode(msgspec.json.encode(saved), type=Finding)
        assert data.builtins(read) == saved
        assert set(one.charts) <= set(SUPPLIES.charts())


def test_findings_have_each_their_place() -> None:
    orders = [unit.order for unit in registry.units_of("finding").values()]
    assert len(set(orders)) == len(orders)


@pytest.mark.parametrize("unit", of("chart"))
def test_a_chart_draws_in_a_situation_and_describes_it(unit: ChartUnit) -> None:
    drawn = 0
    for situation in situations.NAMES:
        given = situations.results(situation), situations.findings(situation)
        chart = unit.draw(*given)
        if chart is not None:
            drawn += 1
            vega_lite.validate(chart)
            assert words.paragraph(unit.alternative(*given))
        if drawn == 2:
            break
    assert drawn, "tests/unit/situations.py has no situation in which it draws"


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.toml")), ids=lambda path: path.name)
def test_the_examples_are_experiments(path: Path) -> None:
    if path.name == "tasks.toml":
        assert task_file.parse(file.read(path), path.name, catalogue())[0].name == path.stem
        return
    asked = file.parse(file.read(path), path.name, catalogue())
    assert asked.name == path.stem
    assert asked.skip_missing


def test_the_template_is_an_experiment_here() -> None:
    file.parse(file.template(), "template.toml", catalogue())
