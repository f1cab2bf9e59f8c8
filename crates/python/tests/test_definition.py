"""Mistakes in the definition of a control are errors at once."""

from __future__ import annotations

import lowtide as lt
import pytest


def define(**names: object) -> type[lt.CongestionControl]:
    return type("Mine", (lt.CongestionControl,), {"name": "mine", **names})


def method(self, fact):
    return None


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("on_acks", "on_ack"),
        ("onAck", "on_ack"),
        ("on_los", "on_loss"),
        ("On_Rto", "on_rto"),
        ("on_idle_restarts", "on_idle_restart"),
        ("cutto", "cut_to"),
    ],
)
def test_a_misspelt_hook_names_the_near_one(name, near) -> None:
    with pytest.raises(lt.ControlError, match=rf"Mine\.{name} .*did you mean `{near}`"):
        define(**{name: method})


def test_a_hook_of_another_simulator_is_none() -> None:
    with pytest.raises(lt.ControlError, match="on_timeout is no hook.*on_ack, on_loss"):
        define(on_timeout=method)


def test_a_method_that_the_class_calls_is_its_own() -> None:
    def on_ack(self, ack):
        self.on_round(ack)

    define(on_ack=on_ack, on_round=method)


@pytest.mark.parametrize(
    ("wrong", "near"),
    [
        ("cwdn", "cwnd"),
        ("cwd", "cwnd"),
        ("sstresh", "ssthresh"),
        ("ss_thresh", "ssthresh"),
        ("pacing_rat", "pacing_rate"),
        ("pacing", "pacing_rate"),
        ("alhpa", "alpha"),
    ],
)
def test_a_misspelt_attribute_names_the_near_one(wrong, near) -> None:
    names: dict = {}
    exec(f"def on_ack(self, ack):\n    self.{wrong} = 5", names)  # noqa: S102
    with pytest.raises(lt.ControlError, match=rf"`self\.{wrong}`.*did you mean `self\.{near}`"):
        define(on_ack=names["on_ack"])
    exec(f"def on_ack(self, ack):\n    setattr(self, {wrong!r}, 5)", names)  # noqa: S102
    with pytest.raises(lt.ControlError, match=rf"did you mean `self\.{near}`"):
        define(on_ack=names["on_ack"])


def test_a_misspelt_attribute_in_a_function_beside_the_class_is_found() -> None:
    def helper(control):
        control.cwdn = 5

    def on_ack(self, ack):
        helper(self)

    with pytest.raises(lt.ControlError, match=r"did you mean `self\.cwnd`"):
        lt.register(define(on_ack=on_ack))


def test_attributes_of_the_user_are_free() -> None:
    def on_ack(self, ack):
        self.last_cwnd = self.cwnd0 = self.cwnd
        self.window, self.beta, self.rate = self.cwnd0, 0.5, 3
        self._cwnd = 5

    define(on_ack=on_ack, version=1, n=0, done=False)


@pytest.mark.parametrize(
    ("name", "near"), [("react_to", "reacts_to"), ("schema", "scheme"), ("exemption", "exemptions")]
)
def test_a_misspelt_declaration_names_the_near_one(name, near) -> None:
    with pytest.raises(lt.ControlError, match=rf"did you mean `{near}`"):
        define(**{name: ("loss",)})


async def asynchronous(self, ack):
    return None


def generator(self, ack):
    yield 1


@pytest.mark.parametrize(
    ("hook", "text"),
    [
        (lambda self: None, "cannot be called with its argument"),
        (lambda self, ack, more: None, "cannot be called with its argument"),
        (asynchronous, "asynchronous"),
        (generator, "yield"),
        (5, "= 5 is no method"),
    ],
)
def test_a_hook_that_cannot_be_called_is_refused(hook, text) -> None:
    with pytest.raises(lt.ControlError, match=rf"(?s){text}.*def on_ack\(self, ack\)"):
        define(on_ack=hook)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("reacts_to", "loss"),
        ("exemptions", ["loss-halves"]),
        ("floor_segments", "2"),
        ("floor_segments", -1),
        ("proportional", "yes"),
        ("scheme", 5),
    ],
)
def test_a_declaration_of_another_type_is_refused(name, value) -> None:
    with pytest.raises(lt.RequestError, match=name):
        lt.register(define(**{name: value}))
