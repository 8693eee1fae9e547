// Makes mapped memory a device: every load and store of 32 bits in it is told, a load gets what the
// device answers. A page fault stops the access, the one instruction is let through by itself
// (trap flag), and the page is closed again. x86-64 Linux; accesses of one thread at a time.
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <sys/mman.h>
#include <ucontext.h>

namespace {

constexpr int MOST = 16;
constexpr greg_t TRAP_FLAG = 0x100, FAULT_WRITES = 2;

using Read = uint32_t (*)(int region, uint32_t address);
using Write = void (*)(int region, uint32_t address, uint32_t value);

struct Region {
    uint8_t *base;
    size_t length;
};

Region regions[MOST];
Read on_read;
Write on_write;
struct sigaction before;                          // what others do with a fault
int open_region = -1;
uint8_t *accessed;
bool writes;

void fault(int signal, siginfo_t *info, void *context) {
    greg_t *registers = static_cast<ucontext_t *>(context)->uc_mcontext.gregs;
    accessed = static_cast<uint8_t *>(info->si_addr);
    for (int k = 0; k < MOST; ++k) {
        const Region &r = regions[k];
        if (!r.base || accessed < r.base || accessed >= r.base + r.length) continue;
        open_region = k;
        writes = registers[REG_ERR] & FAULT_WRITES;
        mprotect(r.base, r.length, PROT_READ | PROT_WRITE);
        if (!writes) *reinterpret_cast<uint32_t *>(accessed) = on_read(k, uint32_t(accessed - r.base));
        registers[REG_EFL] |= TRAP_FLAG;
        return;
    }
    sigaction(signal, &before, nullptr);          // none of ours: it happens again, to others
}

void step(int, siginfo_t *, void *context) {
    static_cast<ucontext_t *>(context)->uc_mcontext.gregs[REG_EFL] &= ~TRAP_FLAG;
    const Region &r = regions[open_region];
    const uint32_t value = *reinterpret_cast<uint32_t *>(accessed);
    mprotect(r.base, r.length, PROT_NONE);
    if (writes) on_write(open_region, uint32_t(accessed - r.base), value);
}

}  // namespace

extern "C" {

void trap_begin(Read read, Write write) {
    on_read = read;
    on_write = write;
    struct sigaction mine = {};
    mine.sa_flags = SA_SIGINFO;
    mine.sa_sigaction = step;
    sigaction(SIGTRAP, &mine, nullptr);
    mine.sa_sigaction = fault;
    sigaction(SIGSEGV, &mine, &before);
}

void trap_end() {
    sigaction(SIGSEGV, &before, nullptr);
    signal(SIGTRAP, SIG_DFL);
}

// Make a mapping a device; its number, -1 when there are too many.
int trap_attach(void *base, size_t length) {
    for (int k = 0; k < MOST; ++k)
        if (!regions[k].base) {
            regions[k] = {static_cast<uint8_t *>(base), length};
            mprotect(base, length, PROT_NONE);
            return k;
        }
    return -1;
}

void trap_detach(int region) {
    mprotect(regions[region].base, regions[region].length, PROT_READ | PROT_WRITE);
    regions[region].base = nullptr;
}

}
