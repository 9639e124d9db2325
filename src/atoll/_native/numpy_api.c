/* The one unit that has the tables of NumPy's C functions. */
#define ATOLL_IMPORTS_NUMPY
#include "numpy_api.h"

int import_numpy(void) {
    import_array1(-1);
    import_umath1(-1);
    return 0;
}
