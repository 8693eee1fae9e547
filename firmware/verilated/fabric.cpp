// Clocks Verilated nodes that are joined by links, in virtual time. See fabric.py for what each
// function is to the host; link.py and the node core have the same arithmetic of a wire:
// a frame takes ceil((octets + overhead) * 8e12 / rate) ps and arrives `delay` ps later.
//
// Nodes go ahead of each other by no more than a word is on its way (`stride`), so that within such
// a stretch none needs what another does in it: each may be clocked by a thread of its own. What it
// puts on wires is kept apart until all have come as far, and taken in the order of the nodes. So
// the result is the same to the bit for any number of threads.
#include <algorithm>
#include <atomic>
#include <barrier>
#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <thread>
#include <vector>

namespace {

constexpr int64_t OCTET_PS = 8'000'000'000'000;   // at 1 bit/s
constexpr int KEPT = 128;                         // octets of a frame that the host is told
constexpr int WORD = 8;                           // octets
constexpr int64_t STRIDE = 256;                   // clocks of one node in one go, at most ...
constexpr int64_t STRIDE_ABREAST = 2048;          // ... and of each where threads meet after it
constexpr int64_t WORTH = 16;                     // clocks that are worth meeting other threads

// Where a model's signals are, in the order in which model.cpp lists them.
struct Signals {
    uint8_t *clk, *rst;
    uint64_t *now;
    uint32_t *awaddr;
    uint8_t *awvalid;
    uint32_t *wdata;
    uint8_t *wstrb, *wvalid, *bready, *bvalid;
    uint32_t *araddr;
    uint8_t *arvalid, *rready, *rvalid;
    uint32_t *rdata;
    uint8_t *s_tdata, *s_tkeep, *s_tvalid, *s_tready, *s_tlast;
    uint8_t *m_tdata, *m_tkeep, *m_tvalid, *m_tready, *m_tlast;
};

struct Access {
    uint32_t address, value;
    bool write;
};

struct Word {
    int64_t due;
    uint64_t data;
    uint8_t keep;
    bool last;
};

struct Record {
    int32_t direction;
    int64_t sent;                                 // its last word, by the sender's clock
    int64_t due, length;
    uint8_t octets[KEPT];
};

// One direction of a link. `sender` and `receiver` are nodes of the fabric, -1: the host's world.
struct Direction {
    int sender, sender_port, receiver, receiver_port;
    int64_t rate, delay, overhead;
    bool up, reported;
    // the transmitter: its frame at hand, and when the words that it holds are on the wire
    std::vector<int64_t> gone;
    size_t gone_at = 0;
    int64_t free_at = INT64_MIN, start = 0, octets = 0, last_due = INT64_MIN;
    bool within = false, lost_frame = false;
    int64_t frames = 0, lost = 0, underruns = 0;
    uint8_t head[KEPT];
    // the line: the receiver takes from `words`; the sender adds to `sent`, see `hand_over`
    std::deque<Word> words;
    std::vector<Word> sent;

    int64_t wire_time(int64_t count) const { return (count * OCTET_PS + rate - 1) / rate; }
};

struct Port {
    Direction *out = nullptr, *in = nullptr;
    bool shows = false;                           // a word stands at the input
};

struct Node {
    void *model;
    void (*clock)(void *);                        // a rising edge
    Signals at;
    std::vector<Port> ports;
    std::deque<Access> wishes;
    std::deque<uint32_t> answers;
    bool under_way = false, rest = false;
    std::vector<Record> records;                  // of this stretch
};

inline bool bit(const uint8_t *bits, int n) { return bits[n >> 3] >> (n & 7) & 1; }
inline void put_bit(uint8_t *bits, int n, bool value) {
    const uint8_t mask = uint8_t(1u << (n & 7));
    bits[n >> 3] = value ? bits[n >> 3] | mask : bits[n >> 3] & uint8_t(~mask);
}

// Threads that clock nodes beside the one that asks for it. They wait at `begin` between stretches.
struct Crew {
    std::barrier<> begin, end;
    std::atomic<size_t> next{0};
    bool leaves = false;
    int64_t start = 0, clocks = 0;
    std::vector<Node *> nodes;                    // those of many ports first: they take longest
    std::vector<std::thread> threads;

    explicit Crew(int count) : begin(count), end(count) {}
};

struct Fabric {
    int64_t period;
    int64_t now;
    bool counts;                                  // the nodes' time runs
    int cores = 1;
    std::vector<Node *> nodes;
    std::vector<Direction *> directions;
    std::deque<Record> records;
    int64_t clocks = 0;
    std::unique_ptr<Crew> crew;
};

void transmit(Node &n, int64_t now, Direction &d, uint64_t data, uint8_t keep, bool last) {
    if (!d.within) {
        d.start = d.free_at > now ? d.free_at : now;
        d.octets = 0;
        d.lost_frame = !d.up;
    }
    if (d.within && d.start + d.wire_time(d.octets) < now)
        ++d.underruns;
    const int count = __builtin_popcount(keep);
    if (d.reported && d.octets < KEPT)
        memcpy(d.head + d.octets, &data, d.octets + WORD <= KEPT ? WORD : KEPT - d.octets);
    d.octets += count;
    const int64_t gone = d.start + d.wire_time(d.octets);
    d.gone[d.gone_at] = gone;
    d.gone_at = (d.gone_at + 1) % d.gone.size();
    int64_t due = gone + d.delay;
    if (last) {
        d.free_at = d.start + d.wire_time(d.octets + d.overhead);
        due = d.free_at + d.delay;
    }
    if (due < d.last_due) due = d.last_due;       // a shortened delay does not reorder
    d.last_due = due;
    if (!d.lost_frame && d.receiver >= 0) d.sent.push_back({due, data, keep, last});
    if (last) {
        if (d.lost_frame) {
            ++d.lost;
        } else if (d.reported) {
            Record r{d.sender_port, now, due, d.octets, {}};
            memcpy(r.octets, d.head, d.octets < KEPT ? d.octets : KEPT);
            n.records.push_back(r);
        }
        ++d.frames;
    }
    d.within = !last;
}

// Inputs of a node for the coming edge; what its outputs hand over with it.
inline void prepare(const Fabric &f, Node &n, int64_t now) {
    Signals &at = n.at;
    if (f.counts) *at.now = uint64_t(now);
    const int ports = int(n.ports.size());
    for (int p = 0; p < ports; ++p) {
        Port &port = n.ports[p];
        if (Direction *d = port.out) {
            // room for a word: the oldest of those held is on the wire
            const bool ready = d->gone[d->gone_at] <= now;
            put_bit(at.m_tready, p, ready);
            if (ready && bit(at.m_tvalid, p)) {
                uint64_t data;
                memcpy(&data, at.m_tdata + 8 * p, 8);
                transmit(n, now, *d, data, at.m_tkeep[p], bit(at.m_tlast, p));
            }
        }
        if (Direction *d = port.in) {
            if (!d->words.empty() && d->words.front().due <= now) {
                const Word &w = d->words.front();
                memcpy(at.s_tdata + 8 * p, &w.data, 8);
                at.s_tkeep[p] = w.keep;
                put_bit(at.s_tlast, p, w.last);
                put_bit(at.s_tvalid, p, true);
                port.shows = true;
                if (bit(at.s_tready, p)) d->words.pop_front();
            } else if (port.shows) {
                put_bit(at.s_tvalid, p, false);
                port.shows = false;
            }
        }
    }
    *at.awvalid = *at.wvalid = *at.arvalid = 0;
    if (n.rest) {
        n.rest = false;                           // the answer's clock
    } else if (!n.under_way && !n.wishes.empty()) {
        const Access &a = n.wishes.front();
        n.under_way = true;
        if (a.write) {
            *at.awaddr = a.address;
            *at.wdata = a.value;
            *at.wstrb = 15;
            *at.awvalid = *at.wvalid = 1;
        } else {
            *at.araddr = a.address;
            *at.arvalid = 1;
        }
    }
}

inline void answer(Node &n) {
    if (!n.under_way) return;
    Signals &at = n.at;
    const bool write = n.wishes.front().write;
    if (write ? *at.bvalid : *at.rvalid) {
        n.answers.push_back(write ? 0 : *at.rdata);
        n.wishes.pop_front();
        n.under_way = false;
        n.rest = true;
    }
}

// How many clocks a node may go ahead of the others: a word that it sends meanwhile is not at their
// inputs before they have come as far. (So its code and state stay in the processor's caches.)
int64_t stride(const Fabric &f) {
    int64_t least = f.cores > 1 ? STRIDE_ABREAST : STRIDE;
    for (const Direction *d : f.directions)
        if (d->sender >= 0 && d->receiver >= 0) {
            const int64_t last_word = std::min<int64_t>(WORD, 1 + d->overhead);
            least = std::min(least, (d->delay + d->wire_time(last_word) - 1) / f.period);
        }
    return std::max<int64_t>(least, 1);
}

void clock_node(const Fabric &f, Node &n, int64_t start, int64_t clocks) {
    const int64_t step = f.counts ? f.period : 0;
    for (int64_t k = 0, now = start; k < clocks; ++k, now += step) {
        prepare(f, n, now);
        n.clock(n.model);
        answer(n);
    }
}

// What a stretch has put on wires, in the order of the nodes.
void hand_over(Fabric &f) {
    for (Direction *d : f.directions) {
        d->words.insert(d->words.end(), d->sent.begin(), d->sent.end());
        d->sent.clear();
    }
    const size_t reported = f.records.size();
    for (Node *n : f.nodes) {
        f.records.insert(f.records.end(), n->records.begin(), n->records.end());
        n->records.clear();
    }
    std::stable_sort(f.records.begin() + std::ptrdiff_t(reported), f.records.end(),
                     [](const Record &a, const Record &b) { return a.sent < b.sent; });
}

// Nodes that no other thread has taken, one after the other.
void take_nodes(const Fabric &f, Crew &crew) {
    for (size_t k; (k = crew.next.fetch_add(1)) < crew.nodes.size();)
        clock_node(f, *crew.nodes[k], crew.start, crew.clocks);
}

void man(Fabric &f) {
    const int count = std::min<int>(f.cores, int(f.nodes.size()));
    f.crew = std::make_unique<Crew>(count);
    Crew &crew = *f.crew;
    crew.nodes = f.nodes;
    std::stable_sort(crew.nodes.begin(), crew.nodes.end(), [](const Node *a, const Node *b) {
        return a->ports.size() > b->ports.size();
    });
    for (int k = 1; k < count; ++k)
        crew.threads.emplace_back([&f, &crew] {
            for (;;) {
                crew.begin.arrive_and_wait();
                if (crew.leaves) return;
                take_nodes(f, crew);
                crew.end.arrive_and_wait();
            }
        });
}

void dismiss(Fabric &f) {
    if (!f.crew) return;
    f.crew->leaves = true;
    f.crew->begin.arrive_and_wait();
    for (std::thread &thread : f.crew->threads) thread.join();
    f.crew.reset();
}

void clock_nodes(Fabric &f, int64_t clocks) {
    if (f.cores > 1 && f.nodes.size() > 1 && clocks >= WORTH) {
        if (!f.crew) man(f);
        f.crew->start = f.now;
        f.crew->clocks = clocks;
        f.crew->next = 0;
        f.crew->begin.arrive_and_wait();
        take_nodes(f, *f.crew);
        f.crew->end.arrive_and_wait();
    } else {
        for (Node *n : f.nodes) clock_node(f, *n, f.now, clocks);
    }
    hand_over(f);
    f.now += clocks * (f.counts ? f.period : 0);
    f.clocks += clocks;
}

bool asked(const Fabric &f) {
    return std::any_of(f.nodes.begin(), f.nodes.end(), [](Node *n) { return !n->wishes.empty(); });
}

}  // namespace

extern "C" {

Fabric *fabric_new(int64_t period, int cores) {
    Fabric *f = new Fabric;
    f->cores = cores;
    f->period = period;
    f->now = 0;
    f->counts = false;
    return f;
}

void fabric_delete(Fabric *f) {
    dismiss(*f);
    for (Node *n : f->nodes) delete n;
    for (Direction *d : f->directions) delete d;
    delete f;
}

int fabric_node(Fabric *f, void *model, void (*eval)(void *), void (*clock)(void *), void **signals,
                int ports) {
    Node *n = new Node;
    n->model = model;
    n->clock = clock;
    memcpy(&n->at, signals, sizeof n->at);
    n->ports.resize(size_t(ports));
    *n->at.bready = *n->at.rready = 1;
    *n->at.rst = 1;
    for (int k = 0; k < 8; ++k) clock(model);
    *n->at.rst = 0;
    eval(model);
    f->nodes.push_back(n);
    return int(f->nodes.size()) - 1;
}

int fabric_link(Fabric *f, int sender, int sender_port, int receiver, int receiver_port,
                int64_t rate, int64_t delay, int64_t overhead, int words, int reported) {
    Direction *d = new Direction;
    const int number = int(f->directions.size());
    d->sender = sender;
    d->sender_port = number;
    d->receiver = receiver;
    d->receiver_port = receiver_port;
    d->rate = rate;
    d->delay = delay;
    d->overhead = overhead;
    d->up = true;
    d->reported = reported != 0;
    d->gone.assign(size_t(words), INT64_MIN);
    f->directions.push_back(d);
    if (sender >= 0) f->nodes[size_t(sender)]->ports[size_t(sender_port)].out = d;
    if (receiver >= 0) f->nodes[size_t(receiver)]->ports[size_t(receiver_port)].in = d;
    return number;
}

void fabric_set_link(Fabric *f, int number, int64_t rate, int64_t delay, int up) {
    Direction &d = *f->directions[size_t(number)];
    d.rate = rate;
    d.delay = delay;
    d.up = up != 0;
}

// frames, frames lost, underruns of a direction
void fabric_link_counts(Fabric *f, int number, int64_t *counts) {
    const Direction &d = *f->directions[size_t(number)];
    counts[0] = d.frames;
    counts[1] = d.lost;
    counts[2] = d.underruns;
}

void fabric_access(Fabric *f, int node, int write, uint32_t address, uint32_t value) {
    f->nodes[size_t(node)]->wishes.push_back({address, value, write != 0});
}

// The next answer of a node, in the order of its accesses; -1 when there is none yet.
int64_t fabric_answer(Fabric *f, int node) {
    Node &n = *f->nodes[size_t(node)];
    if (n.answers.empty()) return -1;
    const int64_t value = n.answers.front();
    n.answers.pop_front();
    return value;
}

// A frame of the world reaches a node: its words stand at the input from `due` on.
void fabric_send(Fabric *f, int number, int64_t due, int64_t length, const uint8_t *octets,
                 int64_t known) {
    Direction &d = *f->directions[size_t(number)];
    for (int64_t at = 0; at < length; at += WORD) {
        const int64_t count = length - at < WORD ? length - at : WORD;
        uint64_t data = 0;
        if (at < known) memcpy(&data, octets + at, size_t(known - at < count ? known - at : count));
        d.words.push_back({due, data, uint8_t((1u << count) - 1), at + WORD >= length});
    }
}

// Frames that were put on the wires that the host is told of; how many there were.
int64_t fabric_take(Fabric *f, int64_t most, int32_t *directions, int64_t *due, int64_t *lengths,
                    uint8_t *octets) {
    int64_t count = 0;
    while (count < most && !f->records.empty()) {
        const Record &r = f->records.front();
        directions[count] = r.direction;
        due[count] = r.due;
        lengths[count] = r.length;
        memcpy(octets + count * KEPT, r.octets, KEPT);
        f->records.pop_front();
        ++count;
    }
    return count;
}

void fabric_start(Fabric *f) { f->counts = true; f->now = 0; }

int64_t fabric_clocks(Fabric *f) { return f->clocks; }

// Clock all nodes while time is below `until`; with `accesses` no longer than until all register
// accesses are answered. Returns the time.
int64_t fabric_run(Fabric *f, int64_t until, int accesses) {
    const int64_t ahead = accesses ? 1 : stride(*f);
    while (!f->counts || f->now < until) {
        const int64_t left = (until - f->now + f->period - 1) / f->period;
        clock_nodes(*f, f->counts ? std::min(ahead, left) : 1);
        if (accesses && !asked(*f)) break;
    }
    return f->now;
}

}
