"""What a release is made from says one thing: versions, requirements and addresses, in all its files."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

import atoll

yaml = pytest.importorskip("yaml")  # comes with Dask

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))


def loaded(path: str):
    return yaml.safe_load((ROOT / path).read_text())


def test_the_citation_is_of_this_version():
    citation = loaded("CITATION.cff")
    assert citation["version"] == atoll.__version__
    assert citation["license"] == PROJECT["license"]
    assert citation["repository-code"] == PROJECT["urls"]["Repository"]
    assert PROJECT["description"] in citation["title"]


def test_the_conda_recipe_requires_what_the_package_does():
    recipe = loaded("conda/recipe.yaml")
    assert recipe["context"]["version"] == atoll.__version__
    assert recipe["about"]["repository"] == PROJECT["urls"]["Repository"]
    assert recipe["about"]["summary"] == PROJECT["description"]
    run = {word.replace(" ", "") for word in recipe["requirements"]["run"]}
    assert run == {*PROJECT["dependencies"], f"python{PROJECT['requires-python']}"}
    scripts = [f"{name} = {value}" for name, value in PROJECT["scripts"].items()]
    assert recipe["build"]["python"]["entry_points"] == scripts


def test_workflows_use_what_there_is():
    pythons = {
        word.rpartition(" ")[2] for word in PROJECT["classifiers"] if " :: Python :: 3." in word
    }
    jobs = {}
    for path in WORKFLOWS:
        workflow = loaded(str(path.relative_to(ROOT)))
        assert "on" in workflow or True in workflow, path  # YAML 1.1 reads `on` as true
        jobs |= workflow["jobs"]
    assert set(jobs["versions"]["strategy"]["matrix"]["python"]) == pythons
    for job in jobs.values():
        if "uses" in job:
            assert (ROOT / job["uses"]).is_file()
            continue
        assert job["timeout-minutes"] <= 90
        for step in job["steps"]:
            for word in step.get("run", "").replace(")", " ").split():
                if word.startswith((".ci/", "tests/", "src/")):
                    assert (ROOT / word).exists(), word
    wheels = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["cibuildwheel"]["build"]
    assert {f"3.{word[3:-2].removeprefix('3')}" for word in wheels} == pythons
