"""Which calls of ``surface`` may bring a whole array together, and which names have none; each with why."""

NUMBER = 256
"""Bytes that may be brought to every rank: a number, or a few that decide."""

GATHERING = {
    name: reason
    for reason, listed in {
        "the shorter operand, which every rank needs": ["convolve same"],
        "some thousand elements at a time": ["a.flat iteration"],
        "NumPy's on the data": [
            "linalg.lstsq",
            "linalg.svdvals",
            "linalg.eigvalsh",
            "a.view wide",
            "a.view narrow",
            "random.normal around",
        ],
        "chances of a million elements at most": ["random.choice by chances"],
        "objects lie on every rank": ["frompyfunc"],
    }.items()
    for name in listed
}
"""Calls that still bring a whole array together, and why."""

EXEMPT = {
    name: reason
    for reason, listed in {
        "asks for the whole value": "a.dump a.dumps a.tobytes a.tofile a.tolist save savetxt savez "
        "savez_compressed array2string array_repr array_str",
        "asks about dtypes, shapes or memory": "can_cast common_type iscomplexobj isfortran isrealobj isscalar "
        "may_share_memory min_scalar_type mintypecode ndim result_type shape shares_memory size info einsum_path "
        "a.setflags",
        "settings": "errstate seterr seterrcall",
        "records and text, which lie on every rank": "rec char strings",
        "dates and text, which lie on every rank": "busday_count busday_offset datetime_as_string datetime_data "
        "is_busday isnat format_float_positional format_float_scientific",
        "reads a file or a foreign object": "from_dlpack fromfile fromregex fromstring genfromtxt load loadtxt",
        "coefficients, which are few": "poly polyadd polyder polydiv polyint polymul polysub roots",
        "classes and modules": "ndarray fft linalg random testing typing ctypeslib lib emath nditer nested_iters asmatrix bmat",
        "has no operands that fit all of the others": "ldexp",
    }.items()
    for name in listed.split()
}
"""Public names without a call, and why."""
