"""Invalid arguments: errors of the package that name the argument of Python and the right form."""

from __future__ import annotations

import math
import re
from collections.abc import Callable

import lowtide as lt
import numpy as np
import pytest

LIGHT = lt.scenario("first-light")


class Plain(lt.CongestionControl):
    name = "plain"


CASES: dict[str, tuple[Callable[[lt.Result], object], str]] = {
    "seeds=0": (lambda r: LIGHT.run(seeds=0), "seeds=0"),
    "seeds=-1": (lambda r: LIGHT.run(seeds=-1), "seeds=-1"),
    "seeds=2.5": (lambda r: LIGHT.run(seeds=2.5), "seeds=2.5"),
    "seeds=True": (lambda r: LIGHT.run(seeds=True), "seeds=True"),
    "seeds of text": (lambda r: LIGHT.run(seeds="ten"), "seeds='ten'"),
    "jobs=0": (lambda r: LIGHT.run(jobs=0), "jobs=0"),
    "jobs=-1": (lambda r: LIGHT.run(jobs=-1), "jobs=-1"),
    "jobs of text": (lambda r: LIGHT.run(jobs="2"), "jobs='2'"),
    "jobs=2**70": (lambda r: LIGHT.run(jobs=2**70), "jobs="),
    "a scheme": (lambda r: LIGHT.run(schemes="dctcp"), r"schemes=\['dctcp'\]"),
    "schemes of numbers": (lambda r: LIGHT.run(schemes=[1]), "schemes has 1"),
    "no scheme": (lambda r: LIGHT.run(schemes=[]), r"schemes=\[\]"),
    "schemes=5": (lambda r: LIGHT.run(schemes=5), "schemes=5"),
    "an unknown scheme": (lambda r: LIGHT.run(schemes=["dctpc"]), "dctcp"),
    "a scheme that is absent": (lambda r: LIGHT.run(schemes=["hpcc"]), "HPCC and INT are not simu"),
    "a key that is absent": (lambda r: LIGHT.set("switch.pfc", True), "PFC is not simulated: "),
    "a value": (lambda r: LIGHT.run(over={"switch.mark.k": "20 pkt"}), r"\['20 pkt'\]"),
    "no value": (lambda r: LIGHT.run(over={"switch.mark.k": []}), r"over=\[\] of `switch.mark.k`"),
    "over of a list": (lambda r: LIGHT.run(over=["switch.mark.k"]), "over="),
    "over of a number": (lambda r: LIGHT.run(over={"switch.mark.k": 5}), "over=5"),
    "an unknown key": (lambda r: LIGHT.run(over={"switch.mark.kay": ["1 pkt"]}), r"sweep\(\)"),
    "out=5": (lambda r: LIGHT.run(out=5), "out=5"),
    "an empty out": (lambda r: LIGHT.run(out=""), "out=''"),
    "progress": (lambda r: LIGHT.run(progress="yes"), "progress='yes'"),
    "a control": (lambda r: LIGHT.run(controls=Plain), r"controls=\[Plain\]"),
    "an object": (lambda r: LIGHT.run(controls=[Plain(lt.CcSetup())]), "its class, Plain"),
    "another class": (lambda r: LIGHT.run(controls=[dict]), "no subclass"),
    "tasks alone": (lambda r: LIGHT.run(tasks=5), "on="),
    "on": (lambda r: LIGHT.run(on=5), "on=5"),
    "key": (lambda r: LIGHT.set(5, "1"), "key=5"),
    "None": (lambda r: LIGHT.set("switch.mark.k", None), "None is no value of `switch.mark.k`"),
    "nan": (lambda r: LIGHT.set("switch.mark.k", math.nan), "nan is no value"),
    "infinity": (lambda r: LIGHT.set("run.duration", math.inf), "inf is no value"),
    "an object as a value": (lambda r: LIGHT.set("run.seeds", [object()]), "is no value"),
    "sweep of a text": (lambda r: LIGHT.sweep("switch.mark.k", "1 pkt"), r"\['1 pkt'\]"),
    "a sweep as a key": (lambda r: LIGHT.set("sweep.run.seeds", 1), r'sweep\("run.seeds"'),
    "scenario": (lambda r: lt.scenario(5), "name=5"),
    "text": (lambda r: lt.Scenario.from_text(5), "text=5"),
    "file": (lambda r: lt.Scenario.from_file(None), "path=None"),
    "a directory as a file": (lambda r: lt.Scenario.from_file("/"), "/"),
    "load": (lambda r: lt.load(5), "directory=5"),
    "load of nothing": (lambda r: lt.load("nothing-here"), "nothing-here"),
    "q": (lambda r: r.slowdown(q=[0.9]), "0.9"),
    "q of a number": (lambda r: r.slowdown(q=0.5), r"q=\[0.5\]"),
    "q of text": (lambda r: r.slowdown(q="p50"), "q='p50'"),
    "by": (lambda r: r.slowdown(by="colour"), "by='colour'"),
    "metric": (lambda r: r.tails("speed"), "metric='speed'"),
    "metrics": (lambda r: r.compare("sack", "dctcp", metrics="drops"), r"metrics=\['drops'\]"),
    "queues": (lambda r: r.compare("sack", "dctcp", queues=[5]), "queues has 5"),
    "same_within": (lambda r: r.compare("sack", "dctcp", same_within="no"), "same_within='no'"),
    "same_within=nan": (lambda r: r.compare("sack", same_within=math.nan), "same_within=nan"),
    "other": (lambda r: r.compare("sack", other=5), "other=5"),
    "a": (lambda r: r.compare(5), "a=5"),
    "figure": (lambda r: r.figure("nope"), "no figure is named `nope`"),
    "figure=5": (lambda r: r.figure(5), "name=5"),
    "table": (lambda r: r.table("flowz"), "flowz"),
    "dpi": (lambda r: figure(r).save("f.png", dpi=0), "dpi=0"),
    "a large dpi": (lambda r: figure(r).save("f.png", dpi=10**6), "dpi="),
    "width": (lambda r: figure(r).save("f.pdf", width=3.3), "width=3.3"),
    "a width without unit": (lambda r: figure(r).save("f.pdf", width="3 parsec"), "width="),
    "font": (lambda r: figure(r).save("f.pdf", font=5), "font=5"),
    "an unknown font": (lambda r: figure(r).save("f.pdf", font="Nothing Sans"), "Nothing Sans"),
    "a missing folder": (lambda r: figure(r).save("/nowhere/f.pdf"), "cannot write /nowhere/f.pdf"),
    "path": (lambda r: figure(r).save(None), "path=None"),
    "ax": (lambda r: figure(r).matplotlib("f.png"), "ax has 'f.png'"),
    "capture": (lambda r: lt.analyze(5), "path=5"),
    "flows": (lambda r: lt.analyze("x.pcap", flows="10.0.0.1"), r"flows=\['10.0.0.1'\]"),
    "gain": (lambda r: lt.analyze("x.pcap", gain="much"), "gain='much'"),
    "gain=5": (lambda r: lt.analyze(__file__, gain=5), "gain"),
    "rto_min": (lambda r: lt.analyze("x.pcap", rto_min=5), "rto_min=5"),
    "a wrong rto_min": (lambda r: lt.analyze(__file__, rto_min="soon"), "rto_min="),
    "racks": (lambda r: lt.advise(racks=0), "racks"),
    "rack": (lambda r: lt.advise(rack=2), r"did you mean racks=\?"),
    "a list of racks": (lambda r: lt.advise(racks=[2]), "racks="),
    "hosts": (lambda r: lt.advise(hosts="fast"), "hosts="),
    "budget": (lambda r: lt.advise(budget=0), "budget=0"),
    "jobs of advise": (lambda r: lt.advise(jobs=0), "jobs=0"),
    "scenario of advise": (lambda r: lt.advise(5), "scenario=5"),
    "an unknown paper": (lambda r: lt.reproduce("dctcp-fig99"), "dctcp-fig"),
    "a paper": (lambda r: lt.reproduce(19), "name=19"),
    "seeds of a paper": (lambda r: lt.reproduce("dctcp-fig19", seeds=0), "seeds=0"),
    "mss": (lambda r: lt.CcSetup(mss="x"), "mss=x"),
    "now": (lambda r: lt.AckSample(now=-1), "now=-1"),
    "seq": (lambda r: lt.Segment(seq=2**40), "seq"),
    "segment": (lambda r: lt.Connection.server().receive(5), "5 is no segment"),
    "packet": (lambda r: lt.Segment.from_bytes("x"), "packet"),
    "scheme of a connection": (lambda r: lt.Connection.client(5), "scheme is 5"),
    "seed of a connection": (lambda r: lt.Connection.client(seed=-1), "seed is -1"),
    "settings": (lambda r: lt.Connection.client(settings=5), "settings is 5"),
    "a setting": (lambda r: lt.Connection.client(settings={"rto-mim": "1 s"}), "rto-min"),
    "n": (lambda r: lt.Connection.client().write(-1), "n is -1"),
    "min": (lambda r: lt.Param(1, min=-5), "min=-5"),
    "max": (lambda r: lt.Param(1, max="9"), "max='9'"),
    "choices": (lambda r: lt.Param("fast", choices="fast"), r"choices=\['fast'\]"),
    "a negative default": (lambda r: lt.Param(-1), "-1"),
    "a negative ratio": (lambda r: lt.Param(-0.5), "-0.5"),
    "a default": (lambda r: lt.Param(None), "None"),
    "a text as a default": (lambda r: lt.Param("fast"), "fast"),
    "an unknown parameter": (lambda r: lt.check_control(Plain, keep=1), "no parameter `keep`"),
}


def figure(result: lt.Result) -> lt.Figure:
    return next(iter(result.figures.values()))


@pytest.mark.parametrize("case", CASES)
def test_an_error_names_the_argument(case, first_light, tmp_path, monkeypatch) -> None:
    call, wanted = CASES[case]
    monkeypatch.chdir(tmp_path)
    with pytest.raises(lt.LowtideError, match=wanted) as raised:
        call(first_light)
    assert not re.search(r"(?<![\w-])--[a-z]", str(raised.value)), "an option of the command"
    assert "Usage:" not in str(raised.value) and "--help" not in str(raised.value)
    assert list(tmp_path.iterdir()) == []


def test_numbers_of_numpy_are_numbers() -> None:
    result = lt.scenario("first-light").set("switch.mark.k", np.array(["20 pkt"])[0])
    result = result.run(np.int64(1), schemes=np.array(["ecn"]), jobs=np.int8(1), progress=False)
    assert result.manifest["seeds"] in (1, [1]) or len(result.manifest["runs"]) == 1


def test_messages_of_the_command_are_those_of_python() -> None:
    from lowtide.errors import in_python

    assert in_python("at most --load '31 %'") == "at most load='31 %'"
    assert in_python("invalid value 'x' for '--hosts-per-rack <N>'") == (
        "invalid value 'x' for 'hosts_per_rack='"
    )
    assert in_python("give --outlines, or --format pdf") == (
        "use outlines=True, or a path that ends in .pdf"
    )
    kept = "`lowtide run x --afresh` makes the results again"
    assert in_python(kept) == kept
    assert in_python("a--b -- c") == "a--b -- c"
