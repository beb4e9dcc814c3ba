"""What goes out with each notebook: the student's own numbers, and the public tests.

`make course` fills in PUBLIC, the numbers of one assignment, and lays the file beside the notebook.
The grader compares with the same `compare`. Nothing but Python's own library is needed here, save
torch where a task takes tensors.

Numbers travel as {"shape": [2, 3], "data": [six numbers]}, several of them as {"parts": [...]}.
"""

import hashlib
import json
import math

PUBLIC = json.loads("{}")
TOLERANCE = 1e-4


def numbers(student):
    """The student's own small numbers: {name: list, or list of lists}, always the same ones."""
    return drawn(PUBLIC["numbers"], student if PUBLIC["variants"] else "everybody")


def drawn(wanted, student):
    """Whole numbers out of a hash: {name: {"shape", "low", "high"}} -> {name: nested list}."""
    who = " ".join(str(student).split()).casefold()  # " Ann  Lee" is "ann lee"
    found = {}
    for name, spec in wanted.items():
        flat = []
        for i in range(math.prod(spec["shape"])):
            digest = hashlib.sha256(f"{who}/{name}/{i}".encode()).digest()
            span = spec["high"] - spec["low"] + 1
            flat.append(spec["low"] + int.from_bytes(digest[:8], "big") % span)
        found[name] = nested(flat, spec["shape"])
    return found


def check(task, function, hidden=None, answers=None):
    """Run the tests of a task on a function.

    Without `hidden`, the public ones: says what is wrong, on which input, as an AssertionError.
    With it, what an instructor's notebook holds: returns the points, as nbgrader reads them.
    """
    properties = PUBLIC["tasks"][task] if hidden is None else json.loads(hidden)
    points, faults, done = 0, [], {}
    for entry in properties:
        found = [judge(function, case, done, answers) for case in entry["cases"]]
        found = [fault for fault in found if fault]
        points += 0 if found else entry["points"]
        if found:
            faults.append(f"✗ {entry['says']}\n{found[0]}")
    if hidden is not None:
        return points
    if faults:
        raise AssertionError("\n" + "\n".join(faults))
    says = "; ".join(entry["says"] for entry in properties)
    own = any("of" in case for entry in properties for case in entry["cases"])
    if own:  # the right numbers of a student do not go out
        print(f"✓ {task}: the form is right ({says}). The numbers are checked at the grading.")
    else:
        print(f"✓ {task}: the public tests pass ({says})")
    return None


def judge(function, case, done, answers):
    """None, or what is wrong with the answer to one case; `done` keeps answers already given."""
    key = json.dumps(case["args"])
    if key not in done:
        try:
            done[key] = plain(function(*map(tensor, case["args"])))
        except NotImplementedError as error:  # torch raises it, too, and says why
            done[key] = f"NotImplementedError: {error}" if str(error) else "not done yet"
        except Exception as error:
            done[key] = f"{type(error).__name__}: {error}"
    got = done[key]
    if not isinstance(got, str):
        expected = case["expected"]
        if answers is not None:
            pairs = zip(answers, case["of"], strict=True)
            expected = {"parts": [answer if asked else None for answer, asked in pairs]}
        got = compare(got, expected, case.get("tolerance", TOLERANCE))
    if got is None:
        return None
    named = zip(names(function, len(case["args"])), case["args"], strict=True)
    shown = "".join(f"  {name:<7} {describe(arg)}\n" for name, arg in named)
    return f"{shown}  {got}"


def names(function, count):
    """What the function calls its arguments, as far as that can be told."""
    code = getattr(function, "__code__", None)
    found = code.co_varnames[: code.co_argcount] if code else ()
    return found if len(found) == count else ["given"] * count


def tensor(arg):
    """A plain argument as the student's function gets it: a tensor, or a single number."""
    if not isinstance(arg, dict):
        return arg
    import torch

    kind = {"float": torch.float32, "int": torch.int64, "bool": torch.bool}[arg["kind"]]
    return torch.tensor(arg["data"], dtype=kind).reshape(arg["shape"])


def plain(value):
    """What a function returned, as plain numbers. TypeError where there are none."""
    if hasattr(value, "tolist") and hasattr(value, "shape"):
        value = value.detach() if hasattr(value, "detach") else value
        return {"shape": [int(n) for n in value.shape], "data": flattened(value.tolist())}
    if isinstance(value, (list, tuple)):
        single = [not getattr(x, "shape", ()) and hasattr(x, "__float__") for x in value]
        if value and all(single):
            return {"shape": [len(value)], "data": [float(x) for x in value]}
        return {"parts": [plain(x) for x in value]}
    if hasattr(value, "__float__"):
        return {"shape": [], "data": [float(value)]}
    raise TypeError(f"numbers are wanted, and this came back: {type(value).__name__}")


def flattened(x):
    return [float(y) for z in x for y in flattened(z)] if isinstance(x, list) else [float(x)]


def compare(got, expected, tolerance=TOLERANCE):
    """None where `got` is as expected, else what is wrong. Both are plain numbers."""
    if expected is None:  # a part that this property does not look at
        return None
    if "parts" in expected:
        parts = got.get("parts")
        if parts is None or len(parts) != len(expected["parts"]):
            given = "one" if parts is None else len(parts)
            return f"{len(expected['parts'])} results are wanted, and {given} came back"
        for i, (mine, wanted) in enumerate(zip(parts, expected["parts"], strict=True)):
            if fault := compare(mine, wanted, tolerance):
                return f"result {i + 1}: {fault}"
        return None
    if "parts" in got:
        return f"one result is wanted, and {len(got['parts'])} came back"
    shape = expected.get("shape", [len(expected.get("labels", ()))])
    if got["shape"] != shape:
        if not shape:
            return (
                f"a single number is wanted, and a result of shape {tuple(got['shape'])} came back"
            )
        return f"shape {tuple(got['shape'])} instead of {tuple(shape)}"
    if "labels" in expected:
        pairs = zip(got["data"], expected["labels"], strict=True)
        share = sum(a == b for a, b in pairs) / len(expected["labels"])
        low = expected["at_least"]
        return None if share >= low else f"{share:.1%} right, and at least {low:.0%} are wanted"
    if "sum" in expected:
        total = math.fsum(got["data"])
        ok = abs(total - expected["sum"]) <= tolerance
        return None if ok else f"the sum is {total:.3f}, not {expected['sum']}"
    for i, value in enumerate(got["data"]):
        wanted = expected["data"][i] if "data" in expected else value
        # The negation also catches what is not a number.
        if not abs(value - wanted) <= tolerance * max(1.0, abs(wanted)):
            where = f" at {place(i, shape)}" if shape else ""
            return f"{value:.4g} instead of {wanted:.4g}{where}"
    return None


def place(i, shape):
    """The i-th of the flat numbers, as indices."""
    found = []
    for size in reversed(shape):
        i, last = divmod(i, size)
        found.insert(0, last)
    return found


def nested(flat, shape):
    if len(shape) < 2:
        return flat if shape else flat[0]
    step = len(flat) // shape[0]
    return [nested(flat[i * step : (i + 1) * step], shape[1:]) for i in range(shape[0])]


def describe(arg):
    """A small argument in full, a large one by its shape."""
    if not isinstance(arg, dict):
        return repr(arg)
    if len(arg["data"]) > 24:
        return f"a tensor of shape {tuple(arg['shape'])}"
    values = arg["data"]
    if arg["kind"] == "float":
        values = [round(x, 2) for x in values]
    return str(nested(values, arg["shape"]))
