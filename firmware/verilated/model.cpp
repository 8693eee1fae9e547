// One Verilated node behind a C interface: MODEL is Verilator's class, see build.py.
#include MODEL_HEADER
#include ROOT_HEADER
#include "verilated.h"

namespace {

// A rising edge. Between two of them no input changes, so that all the falling one does is to let
// Verilator see the next: what it keeps of the clock is set instead, where it is called as here.
// `eval` beside this takes a lock twice, for models of many threads.
template <class Root> void rise(MODEL *m, Root *root) {
    if constexpr (requires { root->__Vtrigprevexpr___TOP__clk__0; Vnode___024root___eval(root); }) {
        m->clk = 1;
        root->__Vtrigprevexpr___TOP__clk__0 = 0;
        Vnode___024root___eval(root);
    } else {
        m->clk = 0;
        m->eval();
        m->clk = 1;
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
