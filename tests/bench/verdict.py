"""From what each rank reported about a test to the reports that pytest shows.

One report for each phase. A failure is shown once for all ranks that failed alike, with
these ranks named, and once more for each different failure.
"""

from __future__ import annotations

from typing import Any

import pytest

from .pool import Result

PHASES = ("setup", "call", "teardown")


def failure(item: pytest.Item, text: str, phase: str = "call") -> pytest.TestReport:
    """A failed report of ``item`` that shows ``text``."""
    return pytest.TestReport(
        nodeid=item.nodeid,
        location=item.location,
        keywords=dict.fromkeys(item.keywords, 1),
        outcome="failed",
        longrepr=text,
        when=phase,  # type: ignore[arg-type]
    )


def reports_of(item: pytest.Item, result: Result) -> list[pytest.TestReport]:
    """The reports of ``item``, which ran on all ranks with this ``result``."""
    size = len(result.ranks)
    merged = []
    for phase in PHASES:
        by_rank = {}
        for rank in result.ranks:
            for data in rank.reports:
                if data["when"] == phase:
                    # Reading a report takes the data apart, so it is given a copy.
                    by_rank[rank.rank] = _report(item, dict(data))
        if by_rank:
            merged.append(_merge(by_rank, size))
    if not merged and not result.trouble:
        return [
            failure(
                item,
                "the ranks did not find this test among the tests that they collected",
                "setup",
            )
        ]
    if result.trouble:
        _add_trouble(item, result, merged)
    return merged


def _report(item: pytest.Item, data: dict[str, Any]) -> pytest.TestReport:
    report = item.config.hook.pytest_report_from_serializable(config=item.config, data=data)
    assert isinstance(report, pytest.TestReport)
    return report


def _merge(by_rank: dict[int, pytest.TestReport], size: int) -> pytest.TestReport:
    skipped = {rank: report for rank, report in by_rank.items() if report.skipped}
    expected = [report for report in skipped.values() if hasattr(report, "wasxfail")]
    failed = {rank: report for rank, report in by_rank.items() if report.failed}
    if expected:
        # A failure that was expected happened; it need not happen on every rank.
        failed = {
            rank: report for rank, report in failed.items() if "XPASS" not in report.longreprtext
        }
    if failed:
        merged = _merge_failed(failed, by_rank, size)
    elif expected:
        merged = expected[0]
    elif skipped and len(skipped) < len(by_rank):
        merged = next(iter(skipped.values()))
        merged.outcome = "failed"
        passed = [rank for rank in by_rank if rank not in skipped]
        merged.longrepr = (
            f"rank {_list(skipped)} of {size} skipped the test, but rank {_list(passed)} ran it"
        )
    else:
        merged = next(iter(by_rank.values()))
    merged.duration = max(report.duration for report in by_rank.values())
    merged.sections = [
        (f"{title} on rank {rank}", text)
        for rank, report in by_rank.items()
        for title, text in report.sections
    ]
    return merged


def _merge_failed(
    failed: dict[int, pytest.TestReport], by_rank: dict[int, pytest.TestReport], size: int
) -> pytest.TestReport:
    groups: dict[str, list[int]] = {}
    for rank, report in failed.items():
        groups.setdefault(_kind(report), []).append(rank)
    first, *others = groups.values()
    merged = failed[first[0]]
    passed = [rank for rank in by_rank if rank not in failed]
    title = f"rank {_list(first)} of {size} failed" + (
        f"; rank {_list(passed)} passed" if passed else ""
    )
    more = [
        (f"rank {_list(ranks)} of {size} failed differently", failed[ranks[0]].longreprtext)
        for ranks in others
    ]
    shown: Any = merged.longrepr
    if hasattr(shown, "addsection") and getattr(shown, "reprcrash", None) is not None:
        shown.reprcrash.message = f"rank {_list(first)}: {shown.reprcrash.message}"
        shown.addsection(title, "")
        for name, text in more:
            shown.addsection(name, text)
    else:
        texts = [(title, merged.longreprtext), *more]
        merged.longrepr = "\n".join(f"{name}:\n{text}" for name, text in texts)
    return merged


def _kind(report: pytest.TestReport) -> str:
    """What makes two failures the same: the place and the message."""
    crash = getattr(report.longrepr, "reprcrash", None)
    return report.longreprtext if crash is None else f"{crash.path}:{crash.lineno}: {crash.message}"


def _add_trouble(item: pytest.Item, result: Result, merged: list[pytest.TestReport]) -> None:
    """Say what went wrong beyond failures: at the failed report where there is one, else as one."""
    details = []
    for rank in result.ranks:
        if rank.stacks:
            details.append((f"stacks of rank {rank.rank}", rank.stacks))
    if result.output:
        details.append(("the last output of the ranks", result.output))
    report = next((report for report in merged if report.failed), None)
    if report is None:
        report = failure(item, result.trouble)
        merged[:] = [other for other in merged if other.when == "setup"] + [report]
    else:
        details.insert(0, ("the ranks were stopped", result.trouble))
    report.sections = [*details, *report.sections]


def nothing_distributed(item: pytest.Item, size: int) -> pytest.TestReport:
    """The report of a test that passed without having shown what it was run on ranks for."""
    return failure(item, nothing_distributed_text(size))


def nothing_distributed_text(size: int) -> str:
    return (
        f"the test passed on {size} ranks, but no array was distributed among them, so it has shown nothing "
        "about ranks; make an array with a layout, or say distributes=False in the marker if that is meant"
    )


def _list(ranks: Any) -> str:
    return ", ".join(map(str, ranks))
