/* Memory: results take that of results which have ended, for new pages cost more than a pass over them. */
#include <sys/mman.h>
#include "blocks.h"

enum { BLOCKS = 8, LEAST = 1 << 16, HUGE_PAGES = 1 << 22, MOST_KEPT = 1 << 26, HEADER = 64 };
static struct { char *memory; size_t size; } blocks[BLOCKS];  /* the latest one last */
static int kept_blocks = 0;
static size_t kept_bytes = 0;

static inline size_t *size_of_block(char *memory) { return (size_t *)(memory - HEADER); }

static char *taken_out(int place) {
    char *memory = blocks[place].memory;
    kept_bytes -= blocks[place].size;
    memmove(blocks + place, blocks + place + 1, (--kept_blocks - place) * sizeof *blocks);
    return memory;
}

/* Memory from the system; the largest asks for huge pages, as NumPy's own does. */
static void *from_system(char *memory, size_t size) {
    if (memory == NULL) return NULL;
#ifdef MADV_HUGEPAGE
    size_t page = 1 << 12, before = -(size_t)memory & (page - 1);
    if (size >= HUGE_PAGES) madvise(memory + before, (size - before) & ~(page - 1), MADV_HUGEPAGE);
#endif
    *(size_t *)memory = size;
    return memory + HEADER;
}

/* A block that was kept and suits, or NULL. */
static char *kept_block(size_t size) {
    int best = -1;
    for (int k = kept_blocks; size >= LEAST && k--;)
        if (blocks[k].size >= size && blocks[k].size / 2 <= size && (best < 0 || blocks[k].size < blocks[best].size)) best = k;
    return best < 0 ? NULL : taken_out(best);
}

static void *block_malloc(void *context, size_t size) {
    char *kept = kept_block(size);
    return kept != NULL ? kept : size > SIZE_MAX - HEADER ? NULL : from_system(malloc(size + HEADER), size);
}

static void *block_calloc(void *context, size_t count, size_t each) {
    if (each && count > (SIZE_MAX - HEADER) / each) return NULL;
    size_t size = count * each;
    char *kept = kept_block(size);
    return kept != NULL ? memset(kept, 0, size) : from_system(calloc(1, size + HEADER), size);
}

static void block_free(void *context, void *memory, size_t nbytes) {
    if (memory == NULL) return;
    size_t size = *size_of_block(memory);
    if (size < LEAST || size > MOST_KEPT / 2) {
        free((char *)memory - HEADER);
        return;
    }
    while (kept_blocks == BLOCKS || (kept_blocks && kept_bytes + size > MOST_KEPT)) free(taken_out(0) - HEADER);
    blocks[kept_blocks].memory = memory;
    blocks[kept_blocks++].size = size;
    kept_bytes += size;
}

static void *block_realloc(void *context, void *memory, size_t size) {
    if (memory == NULL) return block_malloc(context, size);
    size_t before = *size_of_block(memory);
    char *other = block_malloc(context, size);
    if (other == NULL) return NULL;
    memcpy(other, memory, before < size ? before : size);
    block_free(context, memory, before);
    return other;
}

static PyDataMem_Handler memory_handler = {"atoll", 1, {NULL, block_malloc, block_calloc, block_realloc, block_free}};
static PyObject *handler = NULL;

PyObject *memory_entered(void) {
    if (handler == NULL) handler = PyCapsule_New(&memory_handler, "mem_handler", NULL);
    return handler == NULL ? NULL : PyDataMem_SetHandler(handler);
}

void memory_left(PyObject *before) {
    if (before == NULL) return;
    Raised raised = taken_error();
    Py_XDECREF(PyDataMem_SetHandler(before));
    Py_DECREF(before);
    raise_again(raised);
}
