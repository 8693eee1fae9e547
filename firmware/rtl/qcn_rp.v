// QCN reaction point: plugins/qcn_rp.py for N limiters that share one calculator; their state lies
// in a memory. Times are ps, rates bit/s, lengths octets.
//
// Events: FEEDBACK (a message arrived), SENT (a frame left), TIMER (expired at `event_now`), each with
// `event_empty`: nothing waits behind the limiter. With `scan_timers` the module finds expired timers
// itself; `due_empty` tells the same of limiter `due_index`.
// Events that only count octets pass one per clock; one that changes a rate some 80 to 150.
// Each change of a rate or of `active` is handed over at `update_*` before the next event.
// `write_*` shows every write into the memory: the state after an event that changed something.
//
// Stages stop at 2^24 - 1. They then no longer equal the kernel's, but no rate differs: by then
// either the increases have long reached the link rate, or both increases are 0.
`default_nettype none

module qcn_rp #(
    parameter N = 4,
    parameter INDEX_W = N > 1 ? $clog2(N) : 1
) (
    input  wire               clk,
    input  wire               rst,
    input  wire               clear,             // every limiter becomes inactive
    output wire               ready_to_seed,     // the memory is initialised
    output wire               idle,

    input  wire [39:0]        link_rate,
    input  wire [44:0]        time_reset,
    input  wire [39:0]        byte_reset,
    input  wire [15:0]        threshold,
    input  wire [39:0]        ai_rate,
    input  wire [39:0]        hai_rate,
    input  wire [15:0]        gd_num,
    input  wire [15:0]        gd_den,            // not 0
    input  wire [15:0]        factor_num,        // min_decrease_factor; not above factor_den
    input  wire [15:0]        factor_den,        // not 0
    input  wire [39:0]        min_rate,
    input  wire               cap_target,
    input  wire               extra_fast_recovery,
    input  wire               jitter_on,

    input  wire               seed_valid,        // while idle
    input  wire [INDEX_W-1:0] seed_index,
    input  wire [31:0]        seed,

    input  wire               scan_timers,
    input  wire [61:0]        now,
    input  wire               event_valid,
    output wire               event_ready,
    input  wire [1:0]         event_kind,
    input  wire [INDEX_W-1:0] event_index,
    input  wire [5:0]         event_feedback,
    input  wire [15:0]        event_length,
    input  wire               event_empty,
    input  wire [61:0]        event_now,
    output wire [INDEX_W-1:0] due_index,
    input  wire               due_empty,

    output wire               update_valid,
    input  wire               update_ready,
    output wire [INDEX_W-1:0] update_index,
    output wire               update_active,
    output wire [39:0]        update_rate,

    output wire               write_valid,
    output reg  [1:0]         write_kind,        // of the event
    output reg  [INDEX_W-1:0] write_index,
    output wire               write_active,
    output wire [39:0]        write_rate,
    output wire [60:0]        write_target,
    output wire [23:0]        write_byte_stage,
    output wire [23:0]        write_timer_stage,
    output wire signed [41:0] write_countdown,
    output wire [62:0]        write_timer,       // top bit: never
    output wire [31:0]        write_random
);
    localparam [1:0] FEEDBACK = 2'd0, SENT = 2'd1, TIMER = 2'd2, SEED = 2'd3;
    localparam [60:0] TARGET_LIMIT = 61'd1 << 60;
    localparam [62:0] NEVER = 63'd1 << 62;
    localparam [31:0] LAST_NUMBER = N - 1;
    localparam [INDEX_W-1:0] LAST = LAST_NUMBER[INDEX_W-1:0];

    // --- the memories: one word per limiter. A count changes the countdown alone, a seed the random
    // source alone, the calculator everything ---------------------------------------------------------
    localparam STATE_W = 1 + 40 + 61 + 24 + 24 + 63;
    reg [STATE_W-1:0] states [0:N-1];
    reg [41:0]        countdowns [0:N-1];
    reg [31:0]        randoms [0:N-1];
    reg [62:0]        timers [0:N-1];            // the same timers once more, to be scanned
    reg [INDEX_W-1:0] read_index;                // in_index; at READ_AGAIN, index
    reg               put;

    // --- an event: first clock, its limiter's state is read ----------------------------------------
    reg               in_valid;
    reg               in_seeds;
    reg [1:0]         in_kind;
    reg [INDEX_W-1:0] in_index;
    reg [5:0]         in_feedback;
    reg [15:0]        in_length;
    reg               in_empty;
    reg [61:0]        in_moment;

    // --- second clock: what it comes to ------------------------------------------------------------
    reg                at_hand;
    reg                sends, expires, tells;    // it is SENT, TIMER, FEEDBACK above 0
    reg [1:0]          kind;
    reg [INDEX_W-1:0]  index;
    reg [5:0]          feedback;
    reg [15:0]         length;
    reg                empty;
    reg [61:0]         moment;
    reg [STATE_W-1:0]  fetched;
    reg [4:0]          at_link;      // by octets: its rate is the link's
    reg signed [41:0]  countdown;
    reg [31:0]         random;
    wire               active;
    wire [39:0]        rate;
    wire [60:0]        target;
    wire [23:0]        byte_stage, timer_stage;
    wire [62:0]        timer;
    assign {active, rate, target, byte_stage, timer_stage, timer} = fetched;
    wire [STATE_W-1:0] found = states[read_index];
    wire [39:0]        apart = found[STATE_W-2 -: 40] ^ link_rate;
    wire [4:0]         same = ~{|apart[39:32], |apart[31:24], |apart[23:16], |apart[15:8],
                                |apart[7:0]};

    wire signed [41:0] left = countdown - $signed({26'd0, length});
    wire               counts = sends && active;
    wire               release_due = &at_link && empty;
    wire               slow = tells || (active && (expires || (sends && (release_due || left[41]))));
    // A clock later an event that needs the calculator stops the ones behind it. What they have
    // read may be out of date when it is done: the one at hand is then read again.
    reg                stop;
    wire               advance = state == RUN && !stop;

    // --- the calculator's copy of a limiter's state ------------------------------------------------
    reg [1:0]          w_kind;
    reg [INDEX_W-1:0]  w_index;
    reg [5:0]          w_feedback;
    reg [61:0]         w_now;
    reg                w_active;
    reg [39:0]         w_rate;
    reg [60:0]         w_target;
    reg [23:0]         w_byte_stage, w_timer_stage;
    reg signed [41:0]  w_countdown;
    reg [62:0]         w_timer;
    reg [31:0]         w_random;
    reg                w_release;   // before it counts
    reg                w_empty;
    reg [4:0]          w_at_link;   // by octets, a clock later
    reg                w_counted;   // its byte stage is not 0, or that does not matter

    localparam [4:0]
        CLEAR = 5'd0, RUN = 5'd1, BEGIN = 5'd2,
        FACTOR = 5'd3, CUT_MULTIPLY = 5'd4, CUT_DIVIDE = 5'd5, CUT_WAIT = 5'd6,
        LEAST_WAIT = 5'd7, DECREASE = 5'd8,
        RELOAD = 5'd9, SPREAD = 5'd10, SPREAD_WAIT = 5'd11, RELOADED = 5'd12,
        STEP = 5'd13, RAISE = 5'd14, MEAN = 5'd15, CAP = 5'd16, STORE = 5'd17, HAND_OVER = 5'd18,
        FLOOR = 5'd19, READ_AGAIN = 5'd20, HALVE = 5'd21, BOUND = 5'd22, GREATER = 5'd23,
        FLOORED = 5'd24, ASCEND = 5'd25, WEIGH = 5'd26, RELEASE = 5'd27;
    reg [4:0]          state;
    reg [INDEX_W-1:0]  cleared;

    wire [INDEX_W-1:0] next_index = seed_valid ? seed_index : timer_found ? found_index : event_index;
    assign event_ready = advance && !timer_found && !seed_valid && !(in_valid && in_seeds);
    assign idle = state == RUN && !in_valid && !at_hand && !timer_found && !stop;
    assign ready_to_seed = idle;

    // --- the timers' scan: one limiter per clock; what it saw counts only as long as no event that
    // may move a timer came in between -------------------------------------------------------------
    reg [INDEX_W-1:0]  scanned, scanned_before, found_index;
    reg [62:0]         scanned_timer;
    reg                scanned_valid;
    reg                timer_found;
    reg [61:0]         found_timer;
    wire [62:0]        lead = {1'b0, now} - {1'b0, scanned_timer[61:0]};
    wire               scan_hit = scanned_valid && !scanned_timer[62] && !lead[62];
    wire               scan_taken = timer_found && advance && !in_valid && !at_hand && !seed_valid;

    assign due_index = found_index;

    // --- arithmetic that the steps share -------------------------------------------------------------
    reg         multiply_start;
    reg  [39:0] multiplicand;
    reg  [23:0] multiplier;
    wire        multiply_done;
    wire [63:0] product;
    multiply #(.A_W(40), .B_W(24), .STEP(1)) multiply (
        .clk(clk), .rst(rst || clear), .start(multiply_start), .a(multiplicand), .b(multiplier),
        .done(multiply_done), .product(product)
    );

    reg         divide_start;
    reg [15:0]  divisor;
    wire        divide_done;
    wire [55:0] quotient;
    wire        divide_busy;
    wire [15:0] divide_rest;
    divide #(.DIVIDEND_W(56), .DIVISOR_W(16), .STEP(1)) divide (
        .clk(clk), .rst(rst || clear), .start(divide_start), .dividend(product[55:0]), .divisor(divisor),
        .busy(divide_busy), .done(divide_done), .quotient(quotient), .remainder(divide_rest)
    );

    wire [31:0] next_random;
    lfsr_step draw (.clk(clk), .value(w_random), .next(next_random));

    reg         spread_start;
    reg  [44:0] interval;
    wire        spread_done;
    wire [45:0] spread_interval;
    jitter #(.BASE_W(45)) jitter (
        .clk(clk), .rst(rst || clear), .start(spread_start), .base(interval), .random(w_random[31:16]),
        .done(spread_done), .result(spread_interval)
    );

    reg  [55:0] cut;
    reg  [21:0] lost;            // gd_num feedback; right from BEGIN on
    reg  [22:0] remains;         // gd_den - lost; right from FACTOR on
    wire        by_bytes = w_kind == SENT;
    reg  [23:0] stage, raised;   // the one that the event raises; stands still from RELOAD on
    reg         full;            // and stops there
    wire [23:0] limit = {8'd0, threshold};
    reg         byte_least;      // stands still from HALVE on
    reg  [23:0] least, most;     // a clock later
    reg         first;           // one of the stages is 1; from HALVE on
    reg  [45:0] span;            // the next interval; right in RELOADED
    wire [43:0] ten_rates = {1'b0, w_rate, 3'b000} + {3'b000, w_rate, 1'b0};
    reg  [43:0] ten;
    reg         high_target;     // above ten rates; right from the second clock of STEP on
    reg         over_quotient, over_floor, over_cap, over_link;   // what is at hand, a clock ago
    reg         halved, hyper, beyond;
    reg         drop_target;
    reg  [63:0] step;
    reg  [65:0] aim;             // the target before it is capped
    reg  [65:0] mean;            // target + rate; halved when read
    wire [60:0] cap = cap_target ? {21'd0, link_rate} : TARGET_LIMIT;
    reg  [39:0] floor;           // the least rate, or the link's where that is less
    wire [40:0] link_over = {1'b0, link_rate} - {1'b0, min_rate};
    wire [55:0] least_rate = {16'd0, floor};

    // What is greater, by the sign of a difference: its chain of carries ends at a register. (A
    // comparison's carry has to be led out of the chain first.)
    wire [24:0] bytes_ahead = {1'b0, w_byte_stage} - {1'b0, w_timer_stage};
    wire [24:0] stage_short = {1'b0, stage} - {1'b0, limit};
    wire [24:0] least_short = {1'b0, limit} - {1'b0, least};
    wire [24:0] most_short = {1'b0, limit} - {1'b0, most};
    wire [61:0] target_short = {18'd0, ten} - {1'b0, w_target};
    wire [56:0] quotient_short = {1'b0, quotient} - {1'b0, cut};
    wire [56:0] floor_short = {1'b0, least_rate} - {1'b0, cut};
    wire [66:0] cap_short = {6'd0, cap} - {1'b0, aim};
    wire [65:0] link_short = {26'd0, link_rate} - {1'b0, mean[65:1]};
    wire [39:0] w_apart = w_rate ^ link_rate;
    always @(posedge clk) begin
        lost <= gd_num * w_feedback;
        remains <= {7'd0, gd_den} - {1'b0, lost};
        span <= jitter_on ? spread_interval : {1'b0, interval};
        byte_least <= bytes_ahead[24];
        least <= byte_least ? w_byte_stage : w_timer_stage;
        most <= byte_least ? w_timer_stage : w_byte_stage;
        first <= w_byte_stage == 24'd1 || w_timer_stage == 24'd1;
        high_target <= target_short[61];
        over_quotient <= quotient_short[56];
        floor <= link_over[40] ? link_rate : min_rate;
        over_floor <= floor_short[56];
        over_cap <= cap_short[66];
        over_link <= link_short[65];
        w_at_link <= ~{|w_apart[39:32], |w_apart[31:24], |w_apart[23:16], |w_apart[15:8],
                       |w_apart[7:0]};
    end

    assign update_valid = state == HAND_OVER;
    assign update_index = w_index;
    assign update_active = w_active;
    assign update_rate = w_rate;

    always @(posedge clk) begin
        put <= 1'b0;
        divide_start <= 1'b0;
        multiply_start <= 1'b0;
        spread_start <= 1'b0;
        if (rst || clear) begin
            state <= CLEAR;
            cleared <= {INDEX_W{1'b0}};
            in_valid <= 1'b0;
            at_hand <= 1'b0;
            sends <= 1'b0;
            expires <= 1'b0;
            tells <= 1'b0;
            stop <= 1'b0;
        end else begin
            case (state)
                CLEAR: begin
                    cleared <= cleared + 1'b1;
                    if (cleared == LAST)
                        state <= RUN;
                end
                RUN: begin
                    if (advance) begin
                        at_hand <= in_valid;
                        sends <= in_valid && in_kind == SENT;
                        expires <= in_valid && in_kind == TIMER;
                        tells <= in_valid && in_kind == FEEDBACK && in_feedback != 6'd0;
                        if (in_valid) begin
                            kind <= in_kind;
                            index <= in_index;
                            feedback <= in_feedback;
                            length <= in_length;
                            empty <= in_empty;
                            moment <= in_moment;
                            fetched <= found;
                            at_link <= same;
                            random <= randoms[read_index];
                            // what is written in this clock is not yet to be read
                            countdown <= counts && index == in_index ? left : countdowns[read_index];
                        end
                        in_valid <= seed_valid || scan_taken || (event_valid && event_ready);
                        in_seeds <= seed_valid;
                        in_kind <= seed_valid ? SEED : timer_found ? TIMER : event_kind;
                        in_index <= next_index;
                        read_index <= next_index;
                        in_feedback <= event_feedback;
                        in_length <= event_length;
                        in_empty <= timer_found ? due_empty : event_empty;
                        in_moment <= timer_found ? found_timer : event_now;
                        stop <= slow;
                        if (at_hand) begin
                            w_kind <= kind;
                            w_index <= index;
                            w_feedback <= feedback;
                            w_now <= moment;
                            w_active <= active;
                            w_rate <= rate;
                            w_target <= target;
                            stage <= kind == SENT ? byte_stage : timer_stage;
                            w_byte_stage <= byte_stage;
                            w_counted <= byte_stage != 24'd0 || !extra_fast_recovery;
                            w_timer_stage <= timer_stage;
                            w_countdown <= kind == SENT ? left : countdown;
                            w_timer <= timer;
                            w_random <= random;
                            w_release <= kind == SENT && release_due;
                            w_empty <= empty;
                        end
                    end else begin
                        stop <= 1'b0;
                        state <= BEGIN;
                    end
                end
                BEGIN: begin
                    raised <= stage + 24'd1;
                    full <= &stage;
                    interval <= by_bytes ? {5'd0, byte_reset} : time_reset;
                    if (w_kind == FEEDBACK) begin
                        if (!w_active) begin
                            w_active <= 1'b1;
                            w_rate <= link_rate;
                            w_target <= {21'd0, link_rate};
                            w_countdown <= {2'b00, byte_reset};
                        end else if (w_counted) begin
                            w_target <= {21'd0, w_rate};
                            w_countdown <= {2'b00, byte_reset};
                        end
                        w_byte_stage <= 24'd0;
                        w_timer_stage <= 24'd0;
                        state <= FACTOR;
                    end else
                        state <= w_release ? WEIGH : ASCEND;
                end
                ASCEND: begin
                    // never else: 16 million expiries of one limiter; a bench sets such a stage
                    if (!full) begin
                        stage <= raised;
                        if (by_bytes)
                            w_byte_stage <= raised;
                        else
                            w_timer_stage <= raised;
                    end
                    state <= RELOAD;
                end

                // feedback: max(rate (1 - gd fb), rate min_decrease_factor, floor)
                FACTOR: begin
                    multiplicand <= w_rate;
                    // a factor below 0 loses against the floor, and so does 0
                    multiplier <= remains[22] ? 24'd0 : {2'b00, remains[21:0]};
                    w_timer <= {1'b0, w_now} + {18'd0, time_reset};
                    multiply_start <= 1'b1;
                    state <= CUT_MULTIPLY;
                end
                CUT_MULTIPLY: if (multiply_done) begin
                    divide_start <= 1'b1;
                    divisor <= gd_den;
                    state <= CUT_DIVIDE;
                end
                CUT_DIVIDE: begin
                    // the divider takes the product now; the other one is made meanwhile
                    multiplicand <= w_rate;
                    multiplier <= {8'd0, factor_num};
                    multiply_start <= 1'b1;
                    state <= CUT_WAIT;
                end
                CUT_WAIT: if (divide_done) begin
                    // the division takes longer than the multiplication
                    cut <= quotient;
                    divide_start <= 1'b1;
                    divisor <= factor_den;
                    state <= LEAST_WAIT;
                end
                LEAST_WAIT: if (divide_done)
                    state <= DECREASE;
                DECREASE: state <= GREATER;
                GREATER: begin
                    if (!over_quotient)
                        cut <= quotient;
                    state <= FLOOR;
                end
                FLOOR: state <= FLOORED;
                FLOORED: begin
                    w_rate <= over_floor ? cut[39:0] : floor;
                    state <= STORE;
                end

                // an expiry: the next interval, half of it from the threshold on, then increase
                RELOAD: begin
                    halved <= !stage_short[24];
                    state <= HALVE;
                end
                HALVE: begin
                    if (jitter_on)
                        w_random <= next_random;
                    if (halved)
                        interval <= {1'b0, interval[44:1]};
                    state <= SPREAD;
                end
                SPREAD: begin
                    spread_start <= jitter_on;
                    state <= jitter_on ? SPREAD_WAIT : RELOADED;
                end
                SPREAD_WAIT: if (spread_done)
                    state <= RELOADED;
                RELOADED: begin
                    if (by_bytes)
                        w_countdown <= span[41:0];
                    else
                        w_timer <= {1'b0, w_now} + {17'd0, span};
                    hyper <= least_short[24];
                    beyond <= most_short[24];
                    multiplicand <= hai_rate;
                    multiplier <= least - limit;
                    multiply_start <= 1'b1;
                    ten <= ten_rates;
                    state <= STEP;
                end
                STEP: begin
                    drop_target <= first && high_target;  // the multiplication takes far longer
                    if (multiply_done)
                        state <= RAISE;
                end
                RAISE: begin
                    step <= hyper ? product : beyond ? {24'd0, ai_rate} : 64'd0;
                    state <= MEAN;
                end
                MEAN: begin
                    aim <= drop_target ? {8'd0, w_target[60:3]} : {5'd0, w_target} + {2'd0, step};
                    state <= CAP;
                end
                CAP: begin
                    mean <= aim + {26'd0, w_rate};
                    state <= BOUND;
                end
                BOUND: begin
                    w_target <= over_cap ? cap : aim[60:0];
                    state <= STORE;
                end

                STORE: begin
                    if (w_kind != FEEDBACK)
                        w_rate <= over_link ? link_rate : mean[40:1];
                    state <= WEIGH;
                end
                // whatever the event was: at the link's rate with nothing waiting it is over
                WEIGH: state <= RELEASE;
                RELEASE: begin
                    if (&w_at_link && w_empty) begin
                        w_active <= 1'b0;
                        w_target <= {21'd0, link_rate};
                        w_byte_stage <= 24'd0;
                        w_timer_stage <= 24'd0;
                        w_timer <= NEVER;
                        w_countdown <= {2'b00, byte_reset};
                    end
                    put <= 1'b1;
                    state <= HAND_OVER;
                end
                HAND_OVER: begin
                    read_index <= index;
                    if (update_ready)
                        state <= READ_AGAIN;
                end
                READ_AGAIN: begin
                    fetched <= found;
                    at_link <= same;
                    random <= randoms[read_index];
                    countdown <= countdowns[read_index];
                    read_index <= in_index;
                    state <= RUN;
                end
                // never case: every state has one of its own
                default: state <= CLEAR;
            endcase
        end
    end

    // --- writes: of the calculator (`put`), of a count whatever comes of it (the calculator then
    // writes again), of a seed; never two in one clock ---------------------------------------------------
    wire count = advance && counts;
    wire seeding = advance && at_hand && kind == SEED;
    wire clearing = state == CLEAR;
    reg [31:0] in_seed, seed_held;
    always @(posedge clk) begin
        in_seed <= seed == 32'd0 ? 32'd1 : seed;
        seed_held <= in_seed;
    end
    wire [INDEX_W-1:0] put_index = clearing ? cleared : w_index;
    wire [STATE_W-1:0] put_state = {w_active, w_rate, w_target, w_byte_stage, w_timer_stage, w_timer};
    wire [STATE_W-1:0] at_rest = {1'b0, link_rate, {21'd0, link_rate}, 24'd0, 24'd0, NEVER};
    wire [62:0]        put_timer = clearing ? NEVER : w_timer;
    wire               puts = !rst && (clearing || put);

    always @(posedge clk) begin
        if (puts) begin
            states[put_index] <= clearing ? at_rest : put_state;
            timers[put_index] <= put_timer;
        end
        if (puts || count)
            countdowns[puts ? put_index : index] <= clearing ? 42'd0 : put ? w_countdown : left;
        if (puts || seeding)
            randoms[puts ? put_index : index] <= clearing ? 32'd1 : put ? w_random : seed_held;
    end

    // What is shown of a write. One that a count's event makes the calculator write again is not.
    reg                wrote;
    reg [STATE_W-1:0]  shown_state;
    reg signed [41:0]  shown_countdown;
    reg [31:0]         shown_random;
    assign write_valid = wrote && !stop;
    assign {write_active, write_rate, write_target, write_byte_stage, write_timer_stage, write_timer}
        = shown_state;
    assign write_countdown = shown_countdown;
    assign write_random = shown_random;
    always @(posedge clk) begin
        wrote <= !rst && (put || seeding || count);
        write_kind <= put ? w_kind : kind;
        write_index <= put ? w_index : index;
        shown_state <= put ? put_state : fetched;
        shown_countdown <= put ? w_countdown : seeding ? countdown : left;
        shown_random <= put ? w_random : seeding ? seed_held : random;
    end

    // --- scan ---------------------------------------------------------------------------------------
    always @(posedge clk) begin
        scanned_before <= scanned;
        scanned_timer <= timers[scanned];
        found_index <= timer_found ? found_index : scanned_before;
        found_timer <= timer_found ? found_timer : scanned_timer[61:0];
        if (rst || clear || !scan_timers)
            scanned <= {INDEX_W{1'b0}};
        else
            scanned <= scanned == LAST ? {INDEX_W{1'b0}} : scanned + 1'b1;
        if (rst || clear || !scan_timers || state != RUN || scan_taken) begin
            scanned_valid <= 1'b0;
            timer_found <= 1'b0;
        end else begin
            scanned_valid <= 1'b1;
            timer_found <= timer_found || scan_hit;
        end
    end

    wire unused = |{divide_busy, divide_rest, mean[0], lead[61:0], bytes_ahead[23:0],
                    stage_short[23:0], least_short[23:0], most_short[23:0], target_short[60:0],
                    quotient_short[55:0], floor_short[55:0], cap_short[65:0], link_short[64:0],
                    link_over[39:0]};
endmodule

`default_nettype wire
