// One Verilated node behind a C interface: MODEL is Verilator's class, see build.py.
#include MODEL_HEADER
#include ROOT_HEADER
#include GATES_HEADER
#include "verilated.h"

namespace {

// A rising edge. Between two of them no input changes, so that all the falling one does is to let
// Verilator see the next: what it keeps of the clock is set instead, where it is called as here.
// `eval` beside this takes a lock twice, for models of many threads, and looks for a second edge.
// Parts of the model have clocks of their own (clock_gate.v): GATE makes one rise if the part is
// awake, as it says once the inputs are settled. Where Verilator's own functions are not as here,
// all parts run in every clock, which comes to the same.
#define GATE(name) \
    root->name##__DOT__pulse = root->name##__DOT__wanted; \
    root->__Vtrigprevexpr___TOP__##name##__DOT__pulse__0 = 0;
#define FALL(name) root->name##__DOT__pulse = 0;
#define RISE(name) root->name##__DOT__pulse = 1;

template <class Root> void rise(MODEL *m, Root *root) {
    if constexpr (requires {
                      root->__Vtrigprevexpr___TOP__clk__0;
                      Vnode___024root___eval_phase__ico(root);
                      Vnode___024root___eval_phase__act(root);
                      Vnode___024root___eval_phase__nba(root);
                  }) {
        root->__VicoFirstIteration = 1;
        Vnode___024root___eval_phase__ico(root);
        root->__VicoFirstIteration = 0;
        m->clk = 1;
        root->__Vtrigprevexpr___TOP__clk__0 = 0;
        GATES(GATE)
        Vnode___024root___eval_phase__act(root);
        Vnode___024root___eval_phase__nba(root);
    } else {
        m->clk = 0;
        GATES(FALL)
        m->eval();
        m->clk = 1;
        GATES(RISE)
        m->eval();
    }
}

}  // namespace

extern "C" {

void *model_new(void **signals) {
    VerilatedContext *context = new VerilatedContext;
    MODEL *m = new MODEL{context};
    void *found[] = {
        &m->clk, &m->rst, &m->now, &m->s_axil_awaddr, &m->s_axil_awvalid, &m->s_axil_wdata,
        &m->s_axil_wstrb, &m->s_axil_wvalid, &m->s_axil_bready, &m->s_axil_bvalid,
        &m->s_axil_araddr, &m->s_axil_arvalid, &m->s_axil_rready, &m->s_axil_rvalid,
        &m->s_axil_rdata, &m->s_tdata, &m->s_tkeep, &m->s_tvalid, &m->s_tready, &m->s_tlast,
        &m->m_tdata, &m->m_tkeep, &m->m_tvalid, &m->m_tready, &m->m_tlast,
    };
    for (void *&place : found) *signals++ = place;
#ifdef HAS_HOST
    m->m_host_tready = 1;
#endif
    return m;
}

void model_eval(void *model) { static_cast<MODEL *>(model)->eval(); }

void model_clock(void *model) {
    MODEL *m = static_cast<MODEL *>(model);
    rise(m, m->rootp);
}

void model_delete(void *model) {
    MODEL *m = static_cast<MODEL *>(model);
    VerilatedContext *context = m->contextp();
    delete m;
    delete context;
}

}
