// Clocks Verilated nodes that are joined by links, in virtual time. See fabric.py for what each
// function is to the host; link.py and the node core have the same arithmetic of a wire:
// a frame takes ceil((octets + overhead) * 8e12 / rate) ps and arrives `delay` ps later.
//
// Nodes go ahead of each other by no more than a word is on its way (`stride`), so that within
// such a stretch none needs what another does in it: each may be clocked by a thread of its own.
// What it puts on wires is kept apart until all have come as far, and taken in the order of the
// nodes. So the result is the same to the bit for any number of threads.
//
// A clock in which nothing happens is not evaluated (`skip`): where no input of a node changes, no
// word leaves and its state repeats (idle.cpp), its time goes on by whole periods of that. A node
// at rest lags behind the others by less than a period. So that nodes rest between the words of a
// frame, a transmitter takes a frame in a burst: all words but the last as they come, and they
// reach the receiver as early. The last, with which a receiver has the frame, is taken and arrives
// when a wire has it there.
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
constexpr int64_t SETTLED = 4;                    // quiet clocks between looks whether a node rests

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
    // the frame at hand keeps the rate and the delay that it started with
    int64_t frame_rate = 1, frame_delay = 0;
    bool bursts = false;                          // all its words but the last go as they come
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
    int64_t frame_time(int64_t count) const {
        return (count * OCTET_PS + frame_rate - 1) / frame_rate;
    }
    // ps from a word's clock at the sender to its arrival, at least
    int64_t lead() const { return delay + wire_time(std::min<int64_t>(WORD, 1 + overhead)); }
};

struct Port {
    Direction *out = nullptr, *in = nullptr;
    bool shows = false;                           // a word stands at the input
};

// Functions of a model, in the order of fabric_binding.py; idle.cpp has those of rest.
struct Functions {
    void (*eval)(void *);
    void (*clock)(void *);                        // a rising edge
    int64_t (*rest_period)();
    int64_t (*state_octets)();
    void (*mark)(void *, uint8_t *);
    int64_t (*rest)(void *, uint8_t *, int64_t, int64_t);
    void (*pass)(void *, const uint8_t *, int64_t);
};

struct Node {
    void *model;
    Functions call;
    Signals at;
    std::vector<Port> ports;
    std::deque<Access> wishes;
    std::deque<uint32_t> answers;
    bool under_way = false, answered = false;
    std::vector<Record> records;                  // of this stretch
    int64_t now = 0;                              // of the coming clock
    // clocks after which its state repeats at rest, 0: it is never skipped; clocks since an input
    // changed; of these, when its state was stored
    int64_t rest_period = 0, quiet = 0, marked_at = 0;
    bool marked = false, rests = false;
    int64_t wakes_at = 0;                         // ps: something may be due then
    int64_t skipped = 0;                          // clocks
    std::vector<uint8_t> state;
};

inline bool bit(const uint8_t *bits, int n) { return bits[n >> 3] >> (n & 7) & 1; }
inline void put_bit(uint8_t *bits, int n, bool value) {
    const uint8_t mask = uint8_t(1u << (n & 7));
    bits[n >> 3] = value ? bits[n >> 3] | mask : bits[n >> 3] & uint8_t(~mask);
}

// Threads that clock nodes beside the one that asks for it. They wait at `begin` between
// stretches.
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
    bool skips = true;                            // clocks in which nothing happens
    std::vector<Node *> nodes;
    std::vector<Direction *> directions;
    std::deque<Record> records;
    int64_t clocks = 0;
    std::unique_ptr<Crew> crew;
};

void transmit(const Fabric &f, Node &n, int64_t now, Direction &d, uint64_t data, uint8_t keep,
              bool last) {
    if (!d.within) {
        d.frame_rate = d.rate;
        d.frame_delay = d.delay;
        d.bursts = f.skips && d.frame_time(WORD) >= f.period;
        d.start = d.free_at > now ? d.free_at : now;
        d.octets = 0;
        d.lost_frame = !d.up;
    }
    if (d.within && d.start + d.frame_time(d.octets) < now)
        ++d.underruns;
    const int count = __builtin_popcount(keep);
    if (d.reported && d.octets < KEPT)
        memcpy(d.head + d.octets, &data, d.octets + WORD <= KEPT ? WORD : KEPT - d.octets);
    d.octets += count;
    const int64_t gone = d.start + d.frame_time(d.octets);
    d.gone[d.gone_at] = gone;
    d.gone_at = (d.gone_at + 1) % d.gone.size();
    int64_t due = gone + d.frame_delay;
    if (last) {
        d.free_at = d.start + d.frame_time(d.octets + d.overhead);
        due = d.free_at + d.frame_delay;
    } else if (d.bursts) {
        due = std::min(due, now + d.lead());
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

// The transmitter has room for the word that a node shows: the oldest of those held is on the
// wire. A word that is not its frame's last is taken without, once all of the frames before are on
// the wire: from then on each word finds room later than the one before it, by a clock at least,
// so that the last word is taken in the same clock as without.
inline bool has_room(const Node &n, int port, const Direction &d, int64_t now) {
    return d.gone[d.gone_at] <= now
        || (d.within && d.bursts && d.start <= now && bit(n.at.m_tvalid, port)
            && !bit(n.at.m_tlast, port));
}

// Inputs of a node for the coming edge; what its outputs hand over with it. False: no input
// changes but the time, and no word goes either way.
inline bool prepare(const Fabric &f, Node &n, int64_t now) {
    Signals &at = n.at;
    if (f.counts) *at.now = uint64_t(now);
    const int ports = int(n.ports.size());
    bool busy = false;
    for (int p = 0; p < ports; ++p) {
        Port &port = n.ports[p];
        if (Direction *d = port.out) {
            const bool ready = has_room(n, p, *d, now);
            busy |= ready != bit(at.m_tready, p);
            put_bit(at.m_tready, p, ready);
            if (ready && bit(at.m_tvalid, p)) {
                uint64_t data;
                memcpy(&data, at.m_tdata + 8 * p, 8);
                transmit(f, n, now, *d, data, at.m_tkeep[p], bit(at.m_tlast, p));
                busy = true;
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
                busy = true;
            } else if (port.shows) {
                put_bit(at.s_tvalid, p, false);
                port.shows = false;
                busy = true;
            }
        }
    }
    *at.awvalid = *at.wvalid = *at.arvalid = 0;
    if (n.answered) {
        n.answered = false;                       // the answer's clock
        busy = true;
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
    return busy || n.under_way;
}

inline void answer(Node &n) {
    if (!n.under_way) return;
    Signals &at = n.at;
    const bool write = n.wishes.front().write;
    if (write ? *at.bvalid : *at.rvalid) {
        n.answers.push_back(write ? 0 : *at.rdata);
        n.wishes.pop_front();
        n.under_way = false;
        n.answered = true;
    }
}

// How many clocks a node may go ahead of the others: a word that it sends meanwhile is not at
// their inputs before they have come as far. (So its code and state stay in the processor's
// caches.)
int64_t stride(const Fabric &f) {
    int64_t least = f.cores > 1 ? STRIDE_ABREAST : STRIDE;
    for (const Direction *d : f.directions)
        if (d->sender >= 0 && d->receiver >= 0)
            least = std::min(least, (d->lead() - 1) / f.period);
    return std::max<int64_t>(least, 1);
}

// The first clock from `now` on at which an input of a node changes or a word goes, at most `end`.
int64_t next_input(const Node &n, int64_t now, int64_t end) {
    for (int p = 0; p < int(n.ports.size()); ++p) {
        const Port &port = n.ports[size_t(p)];
        if (const Direction *d = port.out) {
            const bool ready = has_room(n, p, *d, now);
            if (ready != bit(n.at.m_tready, p) || (ready && bit(n.at.m_tvalid, p))) return now;
            if (!ready) end = std::min(end, d->gone[d->gone_at]);
            if (d->within && d->start > now) end = std::min(end, d->start);
        }
        if (const Direction *d = port.in)
            if (!d->words.empty()) end = std::min(end, d->words.front().due);
    }
    return end;
}

// Skip whole periods in which a node at rest meets nothing, up to `end`. False: its coming clock
// has to be evaluated; true with `n.now` before `end`: less than a period is left.
bool skip(const Fabric &f, Node &n, int64_t end) {
    if (!n.wishes.empty() || n.answered) return false;
    if (n.rests && n.now >= n.wakes_at) n.rests = n.marked = false;
    if (!n.rests) {
        if (n.quiet < SETTLED) return false;
        if (n.marked && n.quiet - n.marked_at == n.rest_period) {
            const int64_t clocks = n.call.rest(n.model, n.state.data(), n.now, f.period);
            n.rests = clocks > 0;
            n.wakes_at = n.now + std::min(clocks, INT64_MAX / 2 / f.period) * f.period;
            n.marked = n.rests;
        }
        if (!n.rests) {
            if (!n.marked && n.quiet % SETTLED == 0) {
                n.call.mark(n.model, n.state.data());
                n.marked = true;
                n.marked_at = n.quiet;
            }
            return false;
        }
    }
    const int64_t until = next_input(n, n.now, std::min(end, n.wakes_at));
    const int64_t clocks = (until - n.now + f.period - 1) / f.period;
    const int64_t periods = clocks / n.rest_period;
    if (periods > 0) {
        n.call.pass(n.model, n.state.data(), periods);
        n.now += periods * n.rest_period * f.period;
        n.skipped += periods * n.rest_period;
    }
    return until >= end;
}

void clock_once(const Fabric &f, Node &n, int64_t now) {
    if (prepare(f, n, now)) {
        n.quiet = 0;
        n.marked = n.rests = false;
    } else {
        ++n.quiet;
    }
    n.call.clock(n.model);
    answer(n);
}

void clock_node(const Fabric &f, Node &n, int64_t start, int64_t clocks) {
    if (!f.counts) {
        for (int64_t k = 0; k < clocks; ++k) clock_once(f, n, start);
        return;
    }
    const bool skips = f.skips && n.rest_period > 0;
    const int64_t end = start + clocks * f.period;
    while (n.now < end) {
        if (skips && skip(f, n, end)) return;
        clock_once(f, n, n.now);
        n.now += f.period;
    }
}

// Evaluate the clocks by which a node at rest lags.
void catch_up(const Fabric &f, Node &n) {
    for (; f.counts && n.now < f.now; n.now += f.period) clock_once(f, n, n.now);
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

Fabric *fabric_new(int64_t period, int cores, int skips) {
    Fabric *f = new Fabric;
    f->cores = cores;
    f->skips = skips != 0;
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

int fabric_node(Fabric *f, void *model, void **functions, void **signals, int ports) {
    Node *n = new Node;
    n->model = model;
    memcpy(&n->call, functions, sizeof n->call);
    memcpy(&n->at, signals, sizeof n->at);
    n->rest_period = n->call.rest_period();
    n->state.resize(size_t(n->call.state_octets()));
    n->ports.resize(size_t(ports));
    *n->at.bready = *n->at.rready = 1;
    *n->at.rst = 1;
    for (int k = 0; k < 8; ++k) n->call.clock(model);
    *n->at.rst = 0;
    n->call.eval(model);
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
    Node &n = *f->nodes[size_t(node)];
    catch_up(*f, n);
    n.wishes.push_back({address, value, write != 0});
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
    catch_up(*f, *f->nodes[size_t(d.receiver)]);
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

// Clocks that were not evaluated, of all nodes.
int64_t fabric_skipped(Fabric *f) {
    int64_t total = 0;
    for (const Node *n : f->nodes) total += n->skipped;
    return total;
}

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
