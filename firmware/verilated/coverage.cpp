// What a model that counts lines and branches adds to model.cpp: its counters, as Verilator has them.
#include "verilated_cov.h"

extern "C" void model_write_coverage(void *model, const char *path) {
    static_cast<MODEL *>(model)->contextp()->coveragep()->write(path);
}
