"""Where the value of a subscript goes, by the bytecode of its statement."""

import dis

import atoll as np
from atoll.context.expressions import _goes_into_elements, _kind


def function(of):
    return of


def assigned():
    def arithmetic(z, c, m):
        z[m] = z[m] * z[m] + c[m]

    def in_place(self, m):
        self.age[m] += 1

    def functions(z, m):
        z[m] = np.minimum(3, np.sqrt(z[m]) ** 2) + abs(-z[m])

    def alone(z, m, old):
        z[m] = old[m]

    def in_a_block(z, m, lock):
        for k in range(3):
            with lock:
                z[m] = k - z[m]

    def of_an_attribute(self, z):
        z[self.mask] = z[self.mask] + 1

    def of_many(z, m):
        z[m] = (
            z[m]
            * 2
        )  # fmt: skip

    return arithmetic, in_place, functions, alone, in_a_block, of_an_attribute, of_many


def kept():
    def by_a_name(z, m):
        x = z[m]
        return x, x

    def by_a_function(z, m):
        z[m] = function(z[m])

    def as_a_key(z, m):
        z[z[m]] = 3

    def by_a_method(z, m):
        z[m] = z[m].clip(0, 3)

    def returned(z, m):
        return np.exp(z[m])

    def in_a_loop(z, m):
        z[m] = [-x for x in z[m]]

    def as_elements(z, m):
        z[m][3] = 5

    def twice(z, m):
        z[m] = y = z[m]
        return y

    def under_a_condition(z, m):
        z[m] = z[m] and 3

    def printed(z, m):
        print(z[m])
        z[m] = 1

    def in_an_expression(z, m):
        z[m] = (w := z[m])
        return w

    def as_an_attribute(z, m):
        z[m] = z[m].T

    def in_a_table(z, m, table):
        table["m"] = z[m]

    def under_another_key(z, m, k):
        z[k] = z[m] * 2

    def under_an_expression(z, m):
        z[m > 0] = z[m > 0] * 2

    return (
        by_a_name, by_a_function, as_a_key, by_a_method, returned, in_a_loop, as_elements, twice, under_a_condition,
        printed, in_an_expression, as_an_attribute, in_a_table, under_another_key, under_an_expression,
    )  # fmt: skip


def found(program):
    code = program.__code__
    places = [each.offset for each in dis.get_instructions(code) if _kind(each) == "BINARY_SUBSCR"]
    assert places
    return [_goes_into_elements(code, place, globals()) for place in places]


def test_what_arithmetic_makes_of_elements_is_assigned():
    for program in assigned():
        assert all(found(program)), program.__name__


def test_what_others_may_read_is_kept():
    for program in kept():
        assert not any(found(program)), program.__name__
