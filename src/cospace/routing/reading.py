"""A judgement in sentences: what was found, and no more than that."""

from __future__ import annotations

from cospace.routing.policies import PolicyScore
from cospace.routing.result import Routing

__all__ = ["headroom_text", "percent", "points", "signal_text", "verdict_text"]


def percent(share: float) -> str:
    """Write a share in percent.

    Examples
    --------
    >>> percent(0.0625)
    '6.2 %'
    """
    return f"{100 * share:.1f} %"


def points(difference: float) -> str:
    """Write a difference of shares in points of percent, with its sign.

    Examples
    --------
    >>> points(-0.031), points(0.0)
    ('-3.1', '+0.0')
    """
    return f"{100 * difference:+.1f}"


def _ends(score: PolicyScore) -> str:
    return f"{points(score.difference_low)} to {points(score.difference_high)}"


def headroom_text(result: Routing) -> str:
    """What could be won at all: said before any router is."""
    strongest, oracle = result.policy("strongest"), result.headroom
    among = "a choice between two" if len(result.models) == 2 else "choices among them"
    return (
        f"{len(result.models)} models, {among}; they disagree on {percent(result.disagreement)} of {result.n:,} items. "
        f"Always the strongest (chosen on training rows) has {percent(strongest.accuracy)} right, an oracle "
        f"{percent(oracle.accuracy)}: a headroom of {points(oracle.difference)} points ({_ends(oracle)})."
    )


def verdict_text(result: Routing) -> str:
    """Whether the main router is worth more than always the strongest."""
    if result.verdict == "none":
        return (
            "No verdict: the interval of the headroom includes 0, so that no router could show anything on these "
            "items."
        )
    router = result.policy("router")
    what = {
        "better": "is better than always the strongest",
        "worse": "is worse than always the strongest",
        "not shown": "is not shown to be better than always the strongest",
    }[result.verdict]
    text = (
        f"The router on {result.main.name} {what}: {percent(router.accuracy)} right, {points(router.difference)} "
        f"points ({_ends(router)}), {router.gained} items gained and {router.lost} lost, exact McNemar p {_p(router.p)}"
    )
    if router.share_of_headroom is not None:
        text += f", {percent(router.share_of_headroom)} of the headroom"
    beyond = result.beyond_lookup
    if beyond is not None:
        text += (
            f". Against looking up the best model of the group it stands at {points(beyond.difference)} points "
            f"({points(beyond.low)} to {points(beyond.high)}, p {_p(beyond.p)})"
        )
        if result.verdict == "better" and beyond.low <= 0.0:
            text += ", so that knowing the group may be all there is to it"
    return text + "."


def signal_text(result: Routing) -> str:
    """Whether the main set knows who is right beyond the category of the prompt."""
    name = result.main.name
    areas = [each for each in result.discrimination if each.features == name]
    if result.signal == "untested":
        return f"No claim of a signal in {name}: it is untested within groups, and may be the category in disguise."
    told = "; ".join(
        f"{each.model} pooled {_area(each.pooled.value)}, within groups {_area(each.within.value)} "
        f"({_area(each.within.low)} to {_area(each.within.high)}), group base rate alone {_area(each.base_rate.value)}"
        for each in areas
    )
    shuffled = (
        "" if result.signal_p is None else f", p {_p(result.signal_p)} by shuffles within groups"
    )
    what = {
        "found": f"{name} knows something of who is right beyond the group{shuffled}",
        "disguise": f"No signal in {name} beyond the group: the pooled area is the category in disguise, for within "
        "groups the interval includes 0.5",
        "not shown": f"No signal is shown in {name}{shuffled}",
    }[result.signal]
    text = f"{what} (areas under the ROC curve: {told})."
    if result.signal == "found" and not any(each.unseen.above for each in areas):
        text += (
            " It is not shown in groups that were not fitted on: it may be a finer category, such as the template of a "
            "prompt."
        )
    return text


def _area(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _p(p: float | None) -> str:
    if p is None:
        return "-"
    return f"{p:.3f}" if p >= 0.0005 else f"{p:.1g}"
