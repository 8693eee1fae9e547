// Rest of a Verilated node: observes that its state repeats, bounds for how long, and advances it
// by whole periods without evaluating them. rest_state.py makes the table, and says what rest is.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

namespace {

using Root = Vnode___024root;

struct Span {
    size_t at, octets;
};
struct Credit {                                   // of a service rate: grows by `held` every clock
    size_t at, held;
};
struct Instant {                                  // `count` elements, of each 62 bits from `lowest`
    size_t at, octets;
    int lowest, count;
    size_t step;
    bool flagged;                                 // the bit above them: none is set
};
#define OFFSET(member) offsetof(Root, member)
#define SPAN(member) {offsetof(Root, member), sizeof(Root::member)}
#define INSTANT(member, lowest, count, step, flagged) \
    {offsetof(Root, member), sizeof(Root::member) / (count), lowest, count, step, flagged}
#include "rest_table.h"

constexpr int64_t TIME_MASK = (int64_t(1) << 62) - 1;
// An instant that passed less than so many clocks before a period began may not have been seen
// yet.
constexpr int64_t MARGIN = 64;
// Spans of the table that adjoin are one.
std::vector<Span> adjoined() {
    std::vector<Span> spans(COMPARED.begin(), COMPARED.end()), joined;
    std::sort(spans.begin(), spans.end(), [](Span a, Span b) { return a.at < b.at; });
    for (const Span &span : spans)
        if (!joined.empty() && joined.back().at + joined.back().octets == span.at)
            joined.back().octets += span.octets;
        else
            joined.push_back(span);
    return joined;
}

const std::vector<Span> SPANS = adjoined();
constexpr size_t GROWING = TIMES.size() + CLOCK_COUNTERS.size() + CREDITS.size();

size_t compared_octets() {
    size_t total = 0;
    for (const Span &span : SPANS) total += span.octets;
    return total;
}

int64_t load(const uint8_t *root, size_t at) {
    int64_t value;
    memcpy(&value, root + at, 8);
    return value;
}

// Offset of what grows by the same amount in every period, in the order of the table.
size_t growing(size_t n) {
    if (n < TIMES.size()) return TIMES[n];
    n -= TIMES.size();
    if (n < CLOCK_COUNTERS.size()) return CLOCK_COUNTERS[n];
    return CREDITS[n - CLOCK_COUNTERS.size()].at;
}

// May it grow by `growth` in a period at rest?
bool grows_evenly(const uint8_t *root, size_t n, int64_t growth, int64_t period) {
    if (n < TIMES.size()) return growth == 0 || growth == REST_PERIOD * period;
    if (n < TIMES.size() + CLOCK_COUNTERS.size()) return growth == 0 || growth == REST_PERIOD;
    const Credit &credit = CREDITS[n - TIMES.size() - CLOCK_COUNTERS.size()];
    const int64_t now = load(root, credit.at);
    return now < 0 ? growth == REST_PERIOD * load(root, credit.held) : growth == 0;
}

// Signals that are derived from what grows are those of the clock before: a rest is a clock
// shorter.
int64_t clocks_until(int64_t span, int64_t step) { return (span + step - 1) / step; }

}  // namespace

extern "C" {

int64_t model_rest_period() { return REST_PERIOD; }

// Octets of a buffer for `model_mark`.
int64_t model_state_octets() { return int64_t(compared_octets() + 8 * GROWING); }

// Store the state, with which `model_rest` compares.
void model_mark(void *model, uint8_t *state) {
    const uint8_t *root = reinterpret_cast<const uint8_t *>(static_cast<MODEL *>(model)->rootp);
    for (size_t n = 0; n < GROWING; ++n, state += 8) memcpy(state, root + growing(n), 8);
    for (const Span &span : SPANS) {
        memcpy(state, root + span.at, span.octets);
        state += span.octets;
    }
}

// A period after `model_mark`, without a change of inputs: clocks from now on in which nothing is
// due, 0 where the node is not at rest. `now`: time of the coming clock, ps; `period`: ps per
// clock. The buffer then holds by how much each member grows per period, for `model_pass`.
int64_t model_rest(void *model, uint8_t *state, int64_t now, int64_t period) {
    const uint8_t *root = reinterpret_cast<const uint8_t *>(static_cast<MODEL *>(model)->rootp);
    const uint8_t *compared = state + 8 * GROWING;
    for (const Span &span : SPANS) {
        if (memcmp(compared, root + span.at, span.octets) != 0) return 0;
        compared += span.octets;
    }
    for (size_t n = 0; n < GROWING; ++n) {
        const int64_t growth = load(root, growing(n)) - load(state, 8 * n);
        if (!grows_evenly(root, n, growth, period)) return 0;
    }
    int64_t clocks = std::numeric_limits<int64_t>::max();
    for (const Credit &credit : CREDITS) {
        const int64_t left = load(root, credit.at), held = load(root, credit.held);
        if (left < 0 && held > 0) clocks = std::min(clocks, clocks_until(-left, held) - 1);
    }
    const int64_t past = now - (REST_PERIOD + MARGIN) * period;
    for (const Instant &instant : INSTANTS)
        for (int k = 0; k < instant.count; ++k) {
            const size_t skipped = size_t(instant.lowest) / 8;
            unsigned __int128 bits = 0;
            memcpy(&bits, root + instant.at + size_t(k) * instant.step + skipped,
                   std::min<size_t>(sizeof bits, instant.octets - skipped));
            bits >>= instant.lowest % 8;
            const int64_t due = int64_t(bits) & TIME_MASK;
            if ((instant.flagged && (bits >> 62 & 1) != 0) || due <= past) continue;
            if (due <= now) return 0;
            clocks = std::min(clocks, clocks_until(due - now, period) - 1);
        }
    for (size_t n = 0; n < GROWING; ++n) {
        const int64_t growth = load(root, growing(n)) - load(state, 8 * n);
        memcpy(state + 8 * n, &growth, 8);
    }
    return clocks;
}

// Advance a node at rest by so many periods.
void model_pass(void *model, const uint8_t *state, int64_t periods) {
    uint8_t *root = reinterpret_cast<uint8_t *>(static_cast<MODEL *>(model)->rootp);
    for (size_t n = 0; n < GROWING; ++n) {
        const int64_t value = load(root, growing(n)) + periods * load(state, 8 * n);
        memcpy(root + growing(n), &value, 8);
    }
}

}
