// The application block of a Corundum NIC: a QCN NIC (qcn_nic) at each of its ports, between the
// transmit queues and the MAC (the `sync` tier, on the core clock). Host frames go through it both
// ways with their tuser, so that every one of them is completed; what is made here has tag 0, whose
// top bit tells Corundum that no host waits for it. Everything else of the block is passed through
// or tied off. The ports are those of mqnic_core's instance (snapshot of December 2023).
//
// Application window on AXI-Lite: port p has 128 KiB, from p * 0x20000 on, qcn_nic and its windows,
// 0x10000 further the delay line on what the port receives. The windows are one chain.
//
// mqnic_core sets no parameters of this block: macros set them, see README.md.
`default_nettype none

`ifndef TAILBACK_LIMITERS
`define TAILBACK_LIMITERS 64
`endif
`ifndef TAILBACK_FLOWS
`define TAILBACK_FLOWS 64
`endif
`ifndef TAILBACK_ROOM
`define TAILBACK_ROOM 64
`endif
`ifndef TAILBACK_HOST_WORDS
`define TAILBACK_HOST_WORDS 4096
`endif
`ifndef TAILBACK_DELAY_WORDS
`define TAILBACK_DELAY_WORDS 4096
`endif

// Much of the interface is not of use here.
/* verilator lint_off UNUSEDSIGNAL */
/* verilator lint_off UNUSEDPARAM */
module mqnic_app_block #(
    parameter IF_COUNT = 1,
    parameter PORTS_PER_IF = 1,
    parameter SCHED_PER_IF = PORTS_PER_IF,
    parameter PORT_COUNT = IF_COUNT*PORTS_PER_IF,
    parameter CLK_PERIOD_NS_NUM = 4,
    parameter CLK_PERIOD_NS_DENOM = 1,
    parameter PTP_CLK_PERIOD_NS_NUM = 4,
    parameter PTP_CLK_PERIOD_NS_DENOM = 1,
    parameter PTP_TS_WIDTH = 96,
    parameter PTP_PORT_CDC_PIPELINE = 0,
    parameter PTP_PEROUT_ENABLE = 0,
    parameter PTP_PEROUT_COUNT = 1,
    parameter PTP_TS_ENABLE = 1,
    parameter TX_TAG_WIDTH = 16,
    parameter MAX_TX_SIZE = 9214,
    parameter MAX_RX_SIZE = 9214,
    parameter DDR_CH = 1,
    parameter DDR_ENABLE = 0,
    parameter DDR_GROUP_SIZE = 1,
    parameter AXI_DDR_DATA_WIDTH = 256,
    parameter AXI_DDR_ADDR_WIDTH = 32,
    parameter AXI_DDR_STRB_WIDTH = (AXI_DDR_DATA_WIDTH/8),
    parameter AXI_DDR_ID_WIDTH = 8,
    parameter AXI_DDR_AWUSER_ENABLE = 0,
    parameter AXI_DDR_AWUSER_WIDTH = 1,
    parameter AXI_DDR_WUSER_ENABLE = 0,
    parameter AXI_DDR_WUSER_WIDTH = 1,
    parameter AXI_DDR_BUSER_ENABLE = 0,
    parameter AXI_DDR_BUSER_WIDTH = 1,
    parameter AXI_DDR_ARUSER_ENABLE = 0,
    parameter AXI_DDR_ARUSER_WIDTH = 1,
    parameter AXI_DDR_RUSER_ENABLE = 0,
    parameter AXI_DDR_RUSER_WIDTH = 1,
    parameter AXI_DDR_MAX_BURST_LEN = 256,
    parameter AXI_DDR_NARROW_BURST = 0,
    parameter AXI_DDR_FIXED_BURST = 0,
    parameter AXI_DDR_WRAP_BURST = 0,
    parameter HBM_CH = 1,
    parameter HBM_ENABLE = 0,
    parameter HBM_GROUP_SIZE = 1,
    parameter AXI_HBM_DATA_WIDTH = 256,
    parameter AXI_HBM_ADDR_WIDTH = 32,
    parameter AXI_HBM_STRB_WIDTH = (AXI_HBM_DATA_WIDTH/8),
    parameter AXI_HBM_ID_WIDTH = 8,
    parameter AXI_HBM_AWUSER_ENABLE = 0,
    parameter AXI_HBM_AWUSER_WIDTH = 1,
    parameter AXI_HBM_WUSER_ENABLE = 0,
    parameter AXI_HBM_WUSER_WIDTH = 1,
    parameter AXI_HBM_BUSER_ENABLE = 0,
    parameter AXI_HBM_BUSER_WIDTH = 1,
    parameter AXI_HBM_ARUSER_ENABLE = 0,
    parameter AXI_HBM_ARUSER_WIDTH = 1,
    parameter AXI_HBM_RUSER_ENABLE = 0,
    parameter AXI_HBM_RUSER_WIDTH = 1,
    parameter AXI_HBM_MAX_BURST_LEN = 256,
    parameter AXI_HBM_NARROW_BURST = 0,
    parameter AXI_HBM_FIXED_BURST = 0,
    parameter AXI_HBM_WRAP_BURST = 0,
    parameter APP_ID = 32'h51420100,
    parameter APP_CTRL_ENABLE = 1,
    parameter APP_DMA_ENABLE = 1,
    parameter APP_AXIS_DIRECT_ENABLE = 1,
    parameter APP_AXIS_SYNC_ENABLE = 1,
    parameter APP_AXIS_IF_ENABLE = 1,
    parameter APP_STAT_ENABLE = 1,
    parameter APP_GPIO_IN_WIDTH = 32,
    parameter APP_GPIO_OUT_WIDTH = 32,
    parameter DMA_ADDR_WIDTH = 64,
    parameter DMA_IMM_ENABLE = 0,
    parameter DMA_IMM_WIDTH = 32,
    parameter DMA_LEN_WIDTH = 16,
    parameter DMA_TAG_WIDTH = 16,
    parameter RAM_SEL_WIDTH = 4,
    parameter RAM_ADDR_WIDTH = 16,
    parameter RAM_SEG_COUNT = 2,
    parameter RAM_SEG_DATA_WIDTH = 256*2/RAM_SEG_COUNT,
    parameter RAM_SEG_BE_WIDTH = RAM_SEG_DATA_WIDTH/8,
    parameter RAM_SEG_ADDR_WIDTH = RAM_ADDR_WIDTH-$clog2(RAM_SEG_COUNT*RAM_SEG_BE_WIDTH),
    parameter RAM_PIPELINE = 2,
    parameter AXIL_APP_CTRL_DATA_WIDTH = 32,
    parameter AXIL_APP_CTRL_ADDR_WIDTH = 24,
    parameter AXIL_APP_CTRL_STRB_WIDTH = (AXIL_APP_CTRL_DATA_WIDTH/8),
    parameter AXIL_CTRL_DATA_WIDTH = 32,
    parameter AXIL_CTRL_ADDR_WIDTH = 16,
    parameter AXIL_CTRL_STRB_WIDTH = (AXIL_CTRL_DATA_WIDTH/8),
    parameter AXIS_DATA_WIDTH = 512,
    parameter AXIS_KEEP_WIDTH = AXIS_DATA_WIDTH/8,
    parameter AXIS_TX_USER_WIDTH = TX_TAG_WIDTH + 1,
    parameter AXIS_RX_USER_WIDTH = (PTP_TS_ENABLE ? PTP_TS_WIDTH : 0) + 1,
    parameter AXIS_RX_USE_READY = 0,
    parameter AXIS_SYNC_DATA_WIDTH = AXIS_DATA_WIDTH,
    parameter AXIS_SYNC_KEEP_WIDTH = AXIS_SYNC_DATA_WIDTH/8,
    parameter AXIS_SYNC_TX_USER_WIDTH = AXIS_TX_USER_WIDTH,
    parameter AXIS_SYNC_RX_USER_WIDTH = AXIS_RX_USER_WIDTH,
    parameter AXIS_IF_DATA_WIDTH = AXIS_SYNC_DATA_WIDTH*2**$clog2(PORTS_PER_IF),
    parameter AXIS_IF_KEEP_WIDTH = AXIS_IF_DATA_WIDTH/8,
    parameter AXIS_IF_TX_ID_WIDTH = 12,
    parameter AXIS_IF_RX_ID_WIDTH = PORTS_PER_IF > 1 ? $clog2(PORTS_PER_IF) : 1,
    parameter AXIS_IF_TX_DEST_WIDTH = $clog2(PORTS_PER_IF)+4,
    parameter AXIS_IF_RX_DEST_WIDTH = 8,
    parameter AXIS_IF_TX_USER_WIDTH = AXIS_SYNC_TX_USER_WIDTH,
    parameter AXIS_IF_RX_USER_WIDTH = AXIS_SYNC_RX_USER_WIDTH,
    parameter STAT_ENABLE = 1,
    parameter STAT_INC_WIDTH = 24,
    parameter STAT_ID_WIDTH = 12
) (
    input  wire clk,
    input  wire rst,
    input  wire [AXIL_APP_CTRL_ADDR_WIDTH-1:0] s_axil_app_ctrl_awaddr,
    input  wire [2:0] s_axil_app_ctrl_awprot,
    input  wire s_axil_app_ctrl_awvalid,
    output wire s_axil_app_ctrl_awready,
    input  wire [AXIL_APP_CTRL_DATA_WIDTH-1:0] s_axil_app_ctrl_wdata,
    input  wire [AXIL_APP_CTRL_STRB_WIDTH-1:0] s_axil_app_ctrl_wstrb,
    input  wire s_axil_app_ctrl_wvalid,
    output wire s_axil_app_ctrl_wready,
    output wire [1:0] s_axil_app_ctrl_bresp,
    output wire s_axil_app_ctrl_bvalid,
    input  wire s_axil_app_ctrl_bready,
    input  wire [AXIL_APP_CTRL_ADDR_WIDTH-1:0] s_axil_app_ctrl_araddr,
    input  wire [2:0] s_axil_app_ctrl_arprot,
    input  wire s_axil_app_ctrl_arvalid,
    output wire s_axil_app_ctrl_arready,
    output wire [AXIL_APP_CTRL_DATA_WIDTH-1:0] s_axil_app_ctrl_rdata,
    output wire [1:0] s_axil_app_ctrl_rresp,
    output wire s_axil_app_ctrl_rvalid,
    input  wire s_axil_app_ctrl_rready,
    output wire [AXIL_CTRL_ADDR_WIDTH-1:0] m_axil_ctrl_awaddr,
    output wire [2:0] m_axil_ctrl_awprot,
    output wire m_axil_ctrl_awvalid,
    input  wire m_axil_ctrl_awready,
    output wire [AXIL_CTRL_DATA_WIDTH-1:0] m_axil_ctrl_wdata,
    output wire [AXIL_CTRL_STRB_WIDTH-1:0] m_axil_ctrl_wstrb,
    output wire m_axil_ctrl_wvalid,
    input  wire m_axil_ctrl_wready,
    input  wire [1:0] m_axil_ctrl_bresp,
    input  wire m_axil_ctrl_bvalid,
    output wire m_axil_ctrl_bready,
    output wire [AXIL_CTRL_ADDR_WIDTH-1:0] m_axil_ctrl_araddr,
    output wire [2:0] m_axil_ctrl_arprot,
    output wire m_axil_ctrl_arvalid,
    input  wire m_axil_ctrl_arready,
    input  wire [AXIL_CTRL_DATA_WIDTH-1:0] m_axil_ctrl_rdata,
    input  wire [1:0] m_axil_ctrl_rresp,
    input  wire m_axil_ctrl_rvalid,
    output wire m_axil_ctrl_rready,
    output wire [DMA_ADDR_WIDTH-1:0] m_axis_ctrl_dma_read_desc_dma_addr,
    output wire [RAM_SEL_WIDTH-1:0] m_axis_ctrl_dma_read_desc_ram_sel,
    output wire [RAM_ADDR_WIDTH-1:0] m_axis_ctrl_dma_read_desc_ram_addr,
    output wire [DMA_LEN_WIDTH-1:0] m_axis_ctrl_dma_read_desc_len,
    output wire [DMA_TAG_WIDTH-1:0] m_axis_ctrl_dma_read_desc_tag,
    output wire m_axis_ctrl_dma_read_desc_valid,
    input  wire m_axis_ctrl_dma_read_desc_ready,
    input  wire [DMA_TAG_WIDTH-1:0] s_axis_ctrl_dma_read_desc_status_tag,
    input  wire [3:0] s_axis_ctrl_dma_read_desc_status_error,
    input  wire s_axis_ctrl_dma_read_desc_status_valid,
    output wire [DMA_ADDR_WIDTH-1:0] m_axis_ctrl_dma_write_desc_dma_addr,
    output wire [RAM_SEL_WIDTH-1:0] m_axis_ctrl_dma_write_desc_ram_sel,
    output wire [RAM_ADDR_WIDTH-1:0] m_axis_ctrl_dma_write_desc_ram_addr,
    output wire [DMA_IMM_WIDTH-1:0] m_axis_ctrl_dma_write_desc_imm,
    output wire m_axis_ctrl_dma_write_desc_imm_en,
    output wire [DMA_LEN_WIDTH-1:0] m_axis_ctrl_dma_write_desc_len,
    output wire [DMA_TAG_WIDTH-1:0] m_axis_ctrl_dma_write_desc_tag,
    output wire m_axis_ctrl_dma_write_desc_valid,
    input  wire m_axis_ctrl_dma_write_desc_ready,
    input  wire [DMA_TAG_WIDTH-1:0] s_axis_ctrl_dma_write_desc_status_tag,
    input  wire [3:0] s_axis_ctrl_dma_write_desc_status_error,
    input  wire s_axis_ctrl_dma_write_desc_status_valid,
    output wire [DMA_ADDR_WIDTH-1:0] m_axis_data_dma_read_desc_dma_addr,
    output wire [RAM_SEL_WIDTH-1:0] m_axis_data_dma_read_desc_ram_sel,
    output wire [RAM_ADDR_WIDTH-1:0] m_axis_data_dma_read_desc_ram_addr,
    output wire [DMA_LEN_WIDTH-1:0] m_axis_data_dma_read_desc_len,
    output wire [DMA_TAG_WIDTH-1:0] m_axis_data_dma_read_desc_tag,
    output wire m_axis_data_dma_read_desc_valid,
    input  wire m_axis_data_dma_read_desc_ready,
    input  wire [DMA_TAG_WIDTH-1:0] s_axis_data_dma_read_desc_status_tag,
    input  wire [3:0] s_axis_data_dma_read_desc_status_error,
    input  wire s_axis_data_dma_read_desc_status_valid,
    output wire [DMA_ADDR_WIDTH-1:0] m_axis_data_dma_write_desc_dma_addr,
    output wire [RAM_SEL_WIDTH-1:0] m_axis_data_dma_write_desc_ram_sel,
    output wire [RAM_ADDR_WIDTH-1:0] m_axis_data_dma_write_desc_ram_addr,
    output wire [DMA_IMM_WIDTH-1:0] m_axis_data_dma_write_desc_imm,
    output wire m_axis_data_dma_write_desc_imm_en,
    output wire [DMA_LEN_WIDTH-1:0] m_axis_data_dma_write_desc_len,
    output wire [DMA_TAG_WIDTH-1:0] m_axis_data_dma_write_desc_tag,
    output wire m_axis_data_dma_write_desc_valid,
    input  wire m_axis_data_dma_write_desc_ready,
    input  wire [DMA_TAG_WIDTH-1:0] s_axis_data_dma_write_desc_status_tag,
    input  wire [3:0] s_axis_data_dma_write_desc_status_error,
    input  wire s_axis_data_dma_write_desc_status_valid,
    input  wire [RAM_SEG_COUNT*RAM_SEL_WIDTH-1:0] ctrl_dma_ram_wr_cmd_sel,
    input  wire [RAM_SEG_COUNT*RAM_SEG_BE_WIDTH-1:0] ctrl_dma_ram_wr_cmd_be,
    input  wire [RAM_SEG_COUNT*RAM_SEG_ADDR_WIDTH-1:0] ctrl_dma_ram_wr_cmd_addr,
    input  wire [RAM_SEG_COUNT*RAM_SEG_DATA_WIDTH-1:0] ctrl_dma_ram_wr_cmd_data,
    input  wire [RAM_SEG_COUNT-1:0] ctrl_dma_ram_wr_cmd_valid,
    output wire [RAM_SEG_COUNT-1:0] ctrl_dma_ram_wr_cmd_ready,
    output wire [RAM_SEG_COUNT-1:0] ctrl_dma_ram_wr_done,
    input  wire [RAM_SEG_COUNT*RAM_SEL_WIDTH-1:0] ctrl_dma_ram_rd_cmd_sel,
    input  wire [RAM_SEG_COUNT*RAM_SEG_ADDR_WIDTH-1:0] ctrl_dma_ram_rd_cmd_addr,
    input  wire [RAM_SEG_COUNT-1:0] ctrl_dma_ram_rd_cmd_valid,
    output wire [RAM_SEG_COUNT-1:0] ctrl_dma_ram_rd_cmd_ready,
    output wire [RAM_SEG_COUNT*RAM_SEG_DATA_WIDTH-1:0] ctrl_dma_ram_rd_resp_data,
    output wire [RAM_SEG_COUNT-1:0] ctrl_dma_ram_rd_resp_valid,
    input  wire [RAM_SEG_COUNT-1:0] ctrl_dma_ram_rd_resp_ready,
    input  wire [RAM_SEG_COUNT*RAM_SEL_WIDTH-1:0] data_dma_ram_wr_cmd_sel,
    input  wire [RAM_SEG_COUNT*RAM_SEG_BE_WIDTH-1:0] data_dma_ram_wr_cmd_be,
    input  wire [RAM_SEG_COUNT*RAM_SEG_ADDR_WIDTH-1:0] data_dma_ram_wr_cmd_addr,
    input  wire [RAM_SEG_COUNT*RAM_SEG_DATA_WIDTH-1:0] data_dma_ram_wr_cmd_data,
    input  wire [RAM_SEG_COUNT-1:0] data_dma_ram_wr_cmd_valid,
    output wire [RAM_SEG_COUNT-1:0] data_dma_ram_wr_cmd_ready,
    output wire [RAM_SEG_COUNT-1:0] data_dma_ram_wr_done,
    input  wire [RAM_SEG_COUNT*RAM_SEL_WIDTH-1:0] data_dma_ram_rd_cmd_sel,
    input  wire [RAM_SEG_COUNT*RAM_SEG_ADDR_WIDTH-1:0] data_dma_ram_rd_cmd_addr,
    input  wire [RAM_SEG_COUNT-1:0] data_dma_ram_rd_cmd_valid,
    output wire [RAM_SEG_COUNT-1:0] data_dma_ram_rd_cmd_ready,
    output wire [RAM_SEG_COUNT*RAM_SEG_DATA_WIDTH-1:0] data_dma_ram_rd_resp_data,
    output wire [RAM_SEG_COUNT-1:0] data_dma_ram_rd_resp_valid,
    input  wire [RAM_SEG_COUNT-1:0] data_dma_ram_rd_resp_ready,
    input  wire ptp_clk,
    input  wire ptp_rst,
    input  wire ptp_sample_clk,
    input  wire ptp_td_sd,
    input  wire ptp_pps,
    input  wire ptp_pps_str,
    input  wire ptp_sync_locked,
    input  wire [PTP_TS_WIDTH-1:0] ptp_sync_ts_rel,
    input  wire ptp_sync_ts_rel_step,
    input  wire [PTP_TS_WIDTH-1:0] ptp_sync_ts_tod,
    input  wire ptp_sync_ts_tod_step,
    input  wire ptp_sync_pps,
    input  wire ptp_sync_pps_str,
    input  wire [PTP_PEROUT_COUNT-1:0] ptp_perout_locked,
    input  wire [PTP_PEROUT_COUNT-1:0] ptp_perout_error,
    input  wire [PTP_PEROUT_COUNT-1:0] ptp_perout_pulse,
    input  wire [PORT_COUNT-1:0] direct_tx_clk,
    input  wire [PORT_COUNT-1:0] direct_tx_rst,
    input  wire [PORT_COUNT*AXIS_DATA_WIDTH-1:0] s_axis_direct_tx_tdata,
    input  wire [PORT_COUNT*AXIS_KEEP_WIDTH-1:0] s_axis_direct_tx_tkeep,
    input  wire [PORT_COUNT-1:0] s_axis_direct_tx_tvalid,
    output wire [PORT_COUNT-1:0] s_axis_direct_tx_tready,
    input  wire [PORT_COUNT-1:0] s_axis_direct_tx_tlast,
    input  wire [PORT_COUNT*AXIS_TX_USER_WIDTH-1:0] s_axis_direct_tx_tuser,
    output wire [PORT_COUNT*AXIS_DATA_WIDTH-1:0] m_axis_direct_tx_tdata,
    output wire [PORT_COUNT*AXIS_KEEP_WIDTH-1:0] m_axis_direct_tx_tkeep,
    output wire [PORT_COUNT-1:0] m_axis_direct_tx_tvalid,
    input  wire [PORT_COUNT-1:0] m_axis_direct_tx_tready,
    output wire [PORT_COUNT-1:0] m_axis_direct_tx_tlast,
    output wire [PORT_COUNT*AXIS_TX_USER_WIDTH-1:0] m_axis_direct_tx_tuser,
    input  wire [PORT_COUNT*PTP_TS_WIDTH-1:0] s_axis_direct_tx_cpl_ts,
    input  wire [PORT_COUNT*TX_TAG_WIDTH-1:0] s_axis_direct_tx_cpl_tag,
    input  wire [PORT_COUNT-1:0] s_axis_direct_tx_cpl_valid,
    output wire [PORT_COUNT-1:0] s_axis_direct_tx_cpl_ready,
    output wire [PORT_COUNT*PTP_TS_WIDTH-1:0] m_axis_direct_tx_cpl_ts,
    output wire [PORT_COUNT*TX_TAG_WIDTH-1:0] m_axis_direct_tx_cpl_tag,
    output wire [PORT_COUNT-1:0] m_axis_direct_tx_cpl_valid,
    input  wire [PORT_COUNT-1:0] m_axis_direct_tx_cpl_ready,
    input  wire [PORT_COUNT-1:0] direct_rx_clk,
    input  wire [PORT_COUNT-1:0] direct_rx_rst,
    input  wire [PORT_COUNT*AXIS_DATA_WIDTH-1:0] s_axis_direct_rx_tdata,
    input  wire [PORT_COUNT*AXIS_KEEP_WIDTH-1:0] s_axis_direct_rx_tkeep,
    input  wire [PORT_COUNT-1:0] s_axis_direct_rx_tvalid,
    output wire [PORT_COUNT-1:0] s_axis_direct_rx_tready,
    input  wire [PORT_COUNT-1:0] s_axis_direct_rx_tlast,
    input  wire [PORT_COUNT*AXIS_RX_USER_WIDTH-1:0] s_axis_direct_rx_tuser,
    output wire [PORT_COUNT*AXIS_DATA_WIDTH-1:0] m_axis_direct_rx_tdata,
    output wire [PORT_COUNT*AXIS_KEEP_WIDTH-1:0] m_axis_direct_rx_tkeep,
    output wire [PORT_COUNT-1:0] m_axis_direct_rx_tvalid,
    input  wire [PORT_COUNT-1:0] m_axis_direct_rx_tready,
    output wire [PORT_COUNT-1:0] m_axis_direct_rx_tlast,
    output wire [PORT_COUNT*AXIS_RX_USER_WIDTH-1:0] m_axis_direct_rx_tuser,
    input  wire [PORT_COUNT*AXIS_SYNC_DATA_WIDTH-1:0] s_axis_sync_tx_tdata,
    input  wire [PORT_COUNT*AXIS_SYNC_KEEP_WIDTH-1:0] s_axis_sync_tx_tkeep,
    input  wire [PORT_COUNT-1:0] s_axis_sync_tx_tvalid,
    output wire [PORT_COUNT-1:0] s_axis_sync_tx_tready,
    input  wire [PORT_COUNT-1:0] s_axis_sync_tx_tlast,
    input  wire [PORT_COUNT*AXIS_SYNC_TX_USER_WIDTH-1:0] s_axis_sync_tx_tuser,
    output wire [PORT_COUNT*AXIS_SYNC_DATA_WIDTH-1:0] m_axis_sync_tx_tdata,
    output wire [PORT_COUNT*AXIS_SYNC_KEEP_WIDTH-1:0] m_axis_sync_tx_tkeep,
    output wire [PORT_COUNT-1:0] m_axis_sync_tx_tvalid,
    input  wire [PORT_COUNT-1:0] m_axis_sync_tx_tready,
    output wire [PORT_COUNT-1:0] m_axis_sync_tx_tlast,
    output wire [PORT_COUNT*AXIS_SYNC_TX_USER_WIDTH-1:0] m_axis_sync_tx_tuser,
    input  wire [PORT_COUNT*PTP_TS_WIDTH-1:0] s_axis_sync_tx_cpl_ts,
    input  wire [PORT_COUNT*TX_TAG_WIDTH-1:0] s_axis_sync_tx_cpl_tag,
    input  wire [PORT_COUNT-1:0] s_axis_sync_tx_cpl_valid,
    output wire [PORT_COUNT-1:0] s_axis_sync_tx_cpl_ready,
    output wire [PORT_COUNT*PTP_TS_WIDTH-1:0] m_axis_sync_tx_cpl_ts,
    output wire [PORT_COUNT*TX_TAG_WIDTH-1:0] m_axis_sync_tx_cpl_tag,
    output wire [PORT_COUNT-1:0] m_axis_sync_tx_cpl_valid,
    input  wire [PORT_COUNT-1:0] m_axis_sync_tx_cpl_ready,
    input  wire [PORT_COUNT*AXIS_SYNC_DATA_WIDTH-1:0] s_axis_sync_rx_tdata,
    input  wire [PORT_COUNT*AXIS_SYNC_KEEP_WIDTH-1:0] s_axis_sync_rx_tkeep,
    input  wire [PORT_COUNT-1:0] s_axis_sync_rx_tvalid,
    output wire [PORT_COUNT-1:0] s_axis_sync_rx_tready,
    input  wire [PORT_COUNT-1:0] s_axis_sync_rx_tlast,
    input  wire [PORT_COUNT*AXIS_SYNC_RX_USER_WIDTH-1:0] s_axis_sync_rx_tuser,
    output wire [PORT_COUNT*AXIS_SYNC_DATA_WIDTH-1:0] m_axis_sync_rx_tdata,
    output wire [PORT_COUNT*AXIS_SYNC_KEEP_WIDTH-1:0] m_axis_sync_rx_tkeep,
    output wire [PORT_COUNT-1:0] m_axis_sync_rx_tvalid,
    input  wire [PORT_COUNT-1:0] m_axis_sync_rx_tready,
    output wire [PORT_COUNT-1:0] m_axis_sync_rx_tlast,
    output wire [PORT_COUNT*AXIS_SYNC_RX_USER_WIDTH-1:0] m_axis_sync_rx_tuser,
    input  wire [IF_COUNT*AXIS_IF_DATA_WIDTH-1:0] s_axis_if_tx_tdata,
    input  wire [IF_COUNT*AXIS_IF_KEEP_WIDTH-1:0] s_axis_if_tx_tkeep,
    input  wire [IF_COUNT-1:0] s_axis_if_tx_tvalid,
    output wire [IF_COUNT-1:0] s_axis_if_tx_tready,
    input  wire [IF_COUNT-1:0] s_axis_if_tx_tlast,
    input  wire [IF_COUNT*AXIS_IF_TX_ID_WIDTH-1:0] s_axis_if_tx_tid,
    input  wire [IF_COUNT*AXIS_IF_TX_DEST_WIDTH-1:0] s_axis_if_tx_tdest,
    input  wire [IF_COUNT*AXIS_IF_TX_USER_WIDTH-1:0] s_axis_if_tx_tuser,
    output wire [IF_COUNT*AXIS_IF_DATA_WIDTH-1:0] m_axis_if_tx_tdata,
    output wire [IF_COUNT*AXIS_IF_KEEP_WIDTH-1:0] m_axis_if_tx_tkeep,
    output wire [IF_COUNT-1:0] m_axis_if_tx_tvalid,
    input  wire [IF_COUNT-1:0] m_axis_if_tx_tready,
    output wire [IF_COUNT-1:0] m_axis_if_tx_tlast,
    output wire [IF_COUNT*AXIS_IF_TX_ID_WIDTH-1:0] m_axis_if_tx_tid,
    output wire [IF_COUNT*AXIS_IF_TX_DEST_WIDTH-1:0] m_axis_if_tx_tdest,
    output wire [IF_COUNT*AXIS_IF_TX_USER_WIDTH-1:0] m_axis_if_tx_tuser,
    input  wire [IF_COUNT*PTP_TS_WIDTH-1:0] s_axis_if_tx_cpl_ts,
    input  wire [IF_COUNT*TX_TAG_WIDTH-1:0] s_axis_if_tx_cpl_tag,
    input  wire [IF_COUNT-1:0] s_axis_if_tx_cpl_valid,
    output wire [IF_COUNT-1:0] s_axis_if_tx_cpl_ready,
    output wire [IF_COUNT*PTP_TS_WIDTH-1:0] m_axis_if_tx_cpl_ts,
    output wire [IF_COUNT*TX_TAG_WIDTH-1:0] m_axis_if_tx_cpl_tag,
    output wire [IF_COUNT-1:0] m_axis_if_tx_cpl_valid,
    input  wire [IF_COUNT-1:0] m_axis_if_tx_cpl_ready,
    input  wire [IF_COUNT*AXIS_IF_DATA_WIDTH-1:0] s_axis_if_rx_tdata,
    input  wire [IF_COUNT*AXIS_IF_KEEP_WIDTH-1:0] s_axis_if_rx_tkeep,
    input  wire [IF_COUNT-1:0] s_axis_if_rx_tvalid,
    output wire [IF_COUNT-1:0] s_axis_if_rx_tready,
    input  wire [IF_COUNT-1:0] s_axis_if_rx_tlast,
    input  wire [IF_COUNT*AXIS_IF_RX_ID_WIDTH-1:0] s_axis_if_rx_tid,
    input  wire [IF_COUNT*AXIS_IF_RX_DEST_WIDTH-1:0] s_axis_if_rx_tdest,
    input  wire [IF_COUNT*AXIS_IF_RX_USER_WIDTH-1:0] s_axis_if_rx_tuser,
    output wire [IF_COUNT*AXIS_IF_DATA_WIDTH-1:0] m_axis_if_rx_tdata,
    output wire [IF_COUNT*AXIS_IF_KEEP_WIDTH-1:0] m_axis_if_rx_tkeep,
    output wire [IF_COUNT-1:0] m_axis_if_rx_tvalid,
    input  wire [IF_COUNT-1:0] m_axis_if_rx_tready,
    output wire [IF_COUNT-1:0] m_axis_if_rx_tlast,
    output wire [IF_COUNT*AXIS_IF_RX_ID_WIDTH-1:0] m_axis_if_rx_tid,
    output wire [IF_COUNT*AXIS_IF_RX_DEST_WIDTH-1:0] m_axis_if_rx_tdest,
    output wire [IF_COUNT*AXIS_IF_RX_USER_WIDTH-1:0] m_axis_if_rx_tuser,
    input  wire [DDR_CH-1:0] ddr_clk,
    input  wire [DDR_CH-1:0] ddr_rst,
    output wire [DDR_CH*AXI_DDR_ID_WIDTH-1:0] m_axi_ddr_awid,
    output wire [DDR_CH*AXI_DDR_ADDR_WIDTH-1:0] m_axi_ddr_awaddr,
    output wire [DDR_CH*8-1:0] m_axi_ddr_awlen,
    output wire [DDR_CH*3-1:0] m_axi_ddr_awsize,
    output wire [DDR_CH*2-1:0] m_axi_ddr_awburst,
    output wire [DDR_CH-1:0] m_axi_ddr_awlock,
    output wire [DDR_CH*4-1:0] m_axi_ddr_awcache,
    output wire [DDR_CH*3-1:0] m_axi_ddr_awprot,
    output wire [DDR_CH*4-1:0] m_axi_ddr_awqos,
    output wire [DDR_CH*AXI_DDR_AWUSER_WIDTH-1:0] m_axi_ddr_awuser,
    output wire [DDR_CH-1:0] m_axi_ddr_awvalid,
    input  wire [DDR_CH-1:0] m_axi_ddr_awready,
    output wire [DDR_CH*AXI_DDR_DATA_WIDTH-1:0] m_axi_ddr_wdata,
    output wire [DDR_CH*AXI_DDR_STRB_WIDTH-1:0] m_axi_ddr_wstrb,
    output wire [DDR_CH-1:0] m_axi_ddr_wlast,
    output wire [DDR_CH*AXI_DDR_WUSER_WIDTH-1:0] m_axi_ddr_wuser,
    output wire [DDR_CH-1:0] m_axi_ddr_wvalid,
    input  wire [DDR_CH-1:0] m_axi_ddr_wready,
    input  wire [DDR_CH*AXI_DDR_ID_WIDTH-1:0] m_axi_ddr_bid,
    input  wire [DDR_CH*2-1:0] m_axi_ddr_bresp,
    input  wire [DDR_CH*AXI_DDR_BUSER_WIDTH-1:0] m_axi_ddr_buser,
    input  wire [DDR_CH-1:0] m_axi_ddr_bvalid,
    output wire [DDR_CH-1:0] m_axi_ddr_bready,
    output wire [DDR_CH*AXI_DDR_ID_WIDTH-1:0] m_axi_ddr_arid,
    output wire [DDR_CH*AXI_DDR_ADDR_WIDTH-1:0] m_axi_ddr_araddr,
    output wire [DDR_CH*8-1:0] m_axi_ddr_arlen,
    output wire [DDR_CH*3-1:0] m_axi_ddr_arsize,
    output wire [DDR_CH*2-1:0] m_axi_ddr_arburst,
    output wire [DDR_CH-1:0] m_axi_ddr_arlock,
    output wire [DDR_CH*4-1:0] m_axi_ddr_arcache,
    output wire [DDR_CH*3-1:0] m_axi_ddr_arprot,
    output wire [DDR_CH*4-1:0] m_axi_ddr_arqos,
    output wire [DDR_CH*AXI_DDR_ARUSER_WIDTH-1:0] m_axi_ddr_aruser,
    output wire [DDR_CH-1:0] m_axi_ddr_arvalid,
    input  wire [DDR_CH-1:0] m_axi_ddr_arready,
    input  wire [DDR_CH*AXI_DDR_ID_WIDTH-1:0] m_axi_ddr_rid,
    input  wire [DDR_CH*AXI_DDR_DATA_WIDTH-1:0] m_axi_ddr_rdata,
    input  wire [DDR_CH*2-1:0] m_axi_ddr_rresp,
    input  wire [DDR_CH-1:0] m_axi_ddr_rlast,
    input  wire [DDR_CH*AXI_DDR_RUSER_WIDTH-1:0] m_axi_ddr_ruser,
    input  wire [DDR_CH-1:0] m_axi_ddr_rvalid,
    output wire [DDR_CH-1:0] m_axi_ddr_rready,
    input  wire [DDR_CH-1:0] ddr_status,
    input  wire [HBM_CH-1:0] hbm_clk,
    input  wire [HBM_CH-1:0] hbm_rst,
    output wire [HBM_CH*AXI_HBM_ID_WIDTH-1:0] m_axi_hbm_awid,
    output wire [HBM_CH*AXI_HBM_ADDR_WIDTH-1:0] m_axi_hbm_awaddr,
    output wire [HBM_CH*8-1:0] m_axi_hbm_awlen,
    output wire [HBM_CH*3-1:0] m_axi_hbm_awsize,
    output wire [HBM_CH*2-1:0] m_axi_hbm_awburst,
    output wire [HBM_CH-1:0] m_axi_hbm_awlock,
    output wire [HBM_CH*4-1:0] m_axi_hbm_awcache,
    output wire [HBM_CH*3-1:0] m_axi_hbm_awprot,
    output wire [HBM_CH*4-1:0] m_axi_hbm_awqos,
    output wire [HBM_CH*AXI_HBM_AWUSER_WIDTH-1:0] m_axi_hbm_awuser,
    output wire [HBM_CH-1:0] m_axi_hbm_awvalid,
    input  wire [HBM_CH-1:0] m_axi_hbm_awready,
    output wire [HBM_CH*AXI_HBM_DATA_WIDTH-1:0] m_axi_hbm_wdata,
    output wire [HBM_CH*AXI_HBM_STRB_WIDTH-1:0] m_axi_hbm_wstrb,
    output wire [HBM_CH-1:0] m_axi_hbm_wlast,
    output wire [HBM_CH*AXI_HBM_WUSER_WIDTH-1:0] m_axi_hbm_wuser,
    output wire [HBM_CH-1:0] m_axi_hbm_wvalid,
    input  wire [HBM_CH-1:0] m_axi_hbm_wready,
    input  wire [HBM_CH*AXI_HBM_ID_WIDTH-1:0] m_axi_hbm_bid,
    input  wire [HBM_CH*2-1:0] m_axi_hbm_bresp,
    input  wire [HBM_CH*AXI_HBM_BUSER_WIDTH-1:0] m_axi_hbm_buser,
    input  wire [HBM_CH-1:0] m_axi_hbm_bvalid,
    output wire [HBM_CH-1:0] m_axi_hbm_bready,
    output wire [HBM_CH*AXI_HBM_ID_WIDTH-1:0] m_axi_hbm_arid,
    output wire [HBM_CH*AXI_HBM_ADDR_WIDTH-1:0] m_axi_hbm_araddr,
    output wire [HBM_CH*8-1:0] m_axi_hbm_arlen,
    output wire [HBM_CH*3-1:0] m_axi_hbm_arsize,
    output wire [HBM_CH*2-1:0] m_axi_hbm_arburst,
    output wire [HBM_CH-1:0] m_axi_hbm_arlock,
    output wire [HBM_CH*4-1:0] m_axi_hbm_arcache,
    output wire [HBM_CH*3-1:0] m_axi_hbm_arprot,
    output wire [HBM_CH*4-1:0] m_axi_hbm_arqos,
    output wire [HBM_CH*AXI_HBM_ARUSER_WIDTH-1:0] m_axi_hbm_aruser,
    output wire [HBM_CH-1:0] m_axi_hbm_arvalid,
    input  wire [HBM_CH-1:0] m_axi_hbm_arready,
    input  wire [HBM_CH*AXI_HBM_ID_WIDTH-1:0] m_axi_hbm_rid,
    input  wire [HBM_CH*AXI_HBM_DATA_WIDTH-1:0] m_axi_hbm_rdata,
    input  wire [HBM_CH*2-1:0] m_axi_hbm_rresp,
    input  wire [HBM_CH-1:0] m_axi_hbm_rlast,
    input  wire [HBM_CH*AXI_HBM_RUSER_WIDTH-1:0] m_axi_hbm_ruser,
    input  wire [HBM_CH-1:0] m_axi_hbm_rvalid,
    output wire [HBM_CH-1:0] m_axi_hbm_rready,
    input  wire [HBM_CH-1:0] hbm_status,
    output wire [STAT_INC_WIDTH-1:0] m_axis_stat_tdata,
    output wire [STAT_ID_WIDTH-1:0] m_axis_stat_tid,
    output wire m_axis_stat_tvalid,
    input  wire m_axis_stat_tready,
    input  wire [APP_GPIO_IN_WIDTH-1:0] gpio_in,
    output wire [APP_GPIO_OUT_WIDTH-1:0] gpio_out,
    input  wire jtag_tdi,
    output wire jtag_tdo,
    input  wire jtag_tms,
    input  wire jtag_tck
);
    localparam [31:0] OUR_ID = 32'h5142_0100;
    localparam [31:0] CLK_HZ = 1_000_000_000 / CLK_PERIOD_NS_NUM * CLK_PERIOD_NS_DENOM;
    localparam C = 2 * PORT_COUNT;            // page of the clock, the last of the chain
    localparam PAGES = C + 1;
    localparam SPAN_W = 16;
    localparam DATA_W = AXIS_SYNC_DATA_WIDTH;
    localparam KEEP_W = AXIS_SYNC_KEEP_WIDTH;
    localparam TX_W = AXIS_SYNC_TX_USER_WIDTH;
    localparam RX_W = AXIS_SYNC_RX_USER_WIDTH;

    initial
        if (APP_ID != OUR_ID) begin
            $display("mqnic_app_block: APP_ID is %h, this application is %h", APP_ID, OUR_ID);
            $finish;
        end

    // --- register windows ------------------------------------------------------------------------
    wire [SPAN_W-1:0]   awaddr, araddr;
    wire [31:0]         wdata;
    wire [3:0]          wstrb;
    wire [PAGES-1:0]    awvalid, awready, wvalid, wready, bvalid, bready, arvalid, arready, rvalid;
    wire [PAGES-1:0]    rready;
    wire [2*PAGES-1:0]  bresp, rresp;
    wire [32*PAGES-1:0] rdata;
    axil_pages #(.PAGES(PAGES), .ADDR_W(AXIL_APP_CTRL_ADDR_WIDTH), .SPAN_W(SPAN_W)) pages (
        .clk(clk), .rst(rst),
        .s_axil_awaddr(s_axil_app_ctrl_awaddr), .s_axil_awvalid(s_axil_app_ctrl_awvalid),
        .s_axil_awready(s_axil_app_ctrl_awready), .s_axil_wdata(s_axil_app_ctrl_wdata),
        .s_axil_wstrb(s_axil_app_ctrl_wstrb), .s_axil_wvalid(s_axil_app_ctrl_wvalid),
        .s_axil_wready(s_axil_app_ctrl_wready), .s_axil_bresp(s_axil_app_ctrl_bresp),
        .s_axil_bvalid(s_axil_app_ctrl_bvalid), .s_axil_bready(s_axil_app_ctrl_bready),
        .s_axil_araddr(s_axil_app_ctrl_araddr), .s_axil_arvalid(s_axil_app_ctrl_arvalid),
        .s_axil_arready(s_axil_app_ctrl_arready), .s_axil_rdata(s_axil_app_ctrl_rdata),
        .s_axil_rresp(s_axil_app_ctrl_rresp), .s_axil_rvalid(s_axil_app_ctrl_rvalid),
        .s_axil_rready(s_axil_app_ctrl_rready),
        .m_axil_awaddr(awaddr), .m_axil_awvalid(awvalid), .m_axil_awready(awready),
        .m_axil_wdata(wdata), .m_axil_wstrb(wstrb), .m_axil_wvalid(wvalid),
        .m_axil_wready(wready), .m_axil_bresp(bresp), .m_axil_bvalid(bvalid),
        .m_axil_bready(bready), .m_axil_araddr(araddr), .m_axil_arvalid(arvalid),
        .m_axil_arready(arready), .m_axil_rdata(rdata), .m_axil_rvalid(rvalid),
        .m_axil_rready(rready)
    );

    wire [61:0] now;
    card_clock #(
        .NUM(CLK_PERIOD_NS_NUM), .DENOM(CLK_PERIOD_NS_DENOM), .CLK_HZ(CLK_HZ)
    ) clock (
        .clk(clk), .rst(rst), .now(now), .s_axil_awaddr(awaddr[11:0]),
        .s_axil_awvalid(awvalid[C]), .s_axil_awready(awready[C]), .s_axil_wdata(wdata),
        .s_axil_wstrb(wstrb), .s_axil_wvalid(wvalid[C]), .s_axil_wready(wready[C]),
        .s_axil_bresp(bresp[2*C +: 2]), .s_axil_bvalid(bvalid[C]), .s_axil_bready(bready[C]),
        .s_axil_araddr(araddr[11:0]), .s_axil_arvalid(arvalid[C]),
        .s_axil_arready(arready[C]), .s_axil_rdata(rdata[32*C +: 32]),
        .s_axil_rresp(rresp[2*C +: 2]), .s_axil_rvalid(rvalid[C]), .s_axil_rready(rready[C])
    );

    // --- a NIC at each port, and a delay line before it ------------------------------------------
    genvar port;
    generate
        for (port = 0; port < PORT_COUNT; port = port + 1) begin : ports
            localparam N = 2 * port, D = 2 * port + 1;
            localparam [31:0] NIC_BASE = N << SPAN_W, DELAY_BASE = D << SPAN_W;
            localparam [31:0] AFTER = (N + 2) << SPAN_W;
            wire [DATA_W-1:0] rx_tdata;
            wire [KEEP_W-1:0] rx_tkeep;
            wire              rx_tvalid, rx_tready, rx_tlast;
            wire [RX_W-1:0]   rx_tuser;
            wire [DATA_W-1:0] tx_tdata;
            wire [KEEP_W-1:0] tx_tkeep;
            wire              tx_tvalid, tx_tready, tx_tlast;
            wire [TX_W-1:0]   tx_tuser;
            delay_unit #(
                .DATA_W(DATA_W), .USER_W(RX_W), .WORDS(`TAILBACK_DELAY_WORDS),
                .FRAMES(`TAILBACK_DELAY_WORDS / 4), .NEXT(AFTER), .CLK_HZ(CLK_HZ)
            ) line (
                .clk(clk), .rst(rst), .now(now), .s_axil_awaddr(awaddr[11:0]),
                .s_axil_awvalid(awvalid[D]), .s_axil_awready(awready[D]), .s_axil_wdata(wdata),
                .s_axil_wstrb(wstrb), .s_axil_wvalid(wvalid[D]), .s_axil_wready(wready[D]),
                .s_axil_bresp(bresp[2*D +: 2]), .s_axil_bvalid(bvalid[D]),
                .s_axil_bready(bready[D]), .s_axil_araddr(araddr[11:0]),
                .s_axil_arvalid(arvalid[D]), .s_axil_arready(arready[D]),
                .s_axil_rdata(rdata[32*D +: 32]), .s_axil_rresp(rresp[2*D +: 2]),
                .s_axil_rvalid(rvalid[D]), .s_axil_rready(rready[D]),
                .s_tdata(s_axis_sync_rx_tdata[port*DATA_W +: DATA_W]),
                .s_tkeep(s_axis_sync_rx_tkeep[port*KEEP_W +: KEEP_W]),
                .s_tvalid(s_axis_sync_rx_tvalid[port]),
                .s_tready(s_axis_sync_rx_tready[port]),
                .s_tlast(s_axis_sync_rx_tlast[port]),
                .s_tuser(s_axis_sync_rx_tuser[port*RX_W +: RX_W]),
                .m_tdata(rx_tdata), .m_tkeep(rx_tkeep), .m_tvalid(rx_tvalid),
                .m_tready(rx_tready), .m_tlast(rx_tlast), .m_tuser(rx_tuser)
            );
            qcn_nic #(
                .DATA_W(DATA_W), .LIMITERS(`TAILBACK_LIMITERS), .FLOWS(`TAILBACK_FLOWS),
                .ROOM(`TAILBACK_ROOM), .HOST_WORDS(`TAILBACK_HOST_WORDS), .CLK_HZ(CLK_HZ),
                .ADDR_W(SPAN_W), .BASE(NIC_BASE), .NEXT(DELAY_BASE), .TX_USER_W(TX_W),
                .RX_USER_W(RX_W)
            ) nic (
                .clk(clk), .rst(rst), .now(now), .s_axil_awaddr(awaddr),
                .s_axil_awvalid(awvalid[N]), .s_axil_awready(awready[N]), .s_axil_wdata(wdata),
                .s_axil_wstrb(wstrb), .s_axil_wvalid(wvalid[N]), .s_axil_wready(wready[N]),
                .s_axil_bresp(bresp[2*N +: 2]), .s_axil_bvalid(bvalid[N]),
                .s_axil_bready(bready[N]), .s_axil_araddr(araddr),
                .s_axil_arvalid(arvalid[N]), .s_axil_arready(arready[N]),
                .s_axil_rdata(rdata[32*N +: 32]), .s_axil_rresp(rresp[2*N +: 2]),
                .s_axil_rvalid(rvalid[N]), .s_axil_rready(rready[N]),
                .s_tdata(rx_tdata), .s_tkeep(rx_tkeep), .s_tvalid(rx_tvalid),
                .s_tready(rx_tready), .s_tlast(rx_tlast), .s_tuser(rx_tuser),
                .m_tdata(tx_tdata), .m_tkeep(tx_tkeep), .m_tvalid(tx_tvalid),
                .m_tready(tx_tready), .m_tlast(tx_tlast), .m_tuser(tx_tuser),
                .s_host_tdata(s_axis_sync_tx_tdata[port*DATA_W +: DATA_W]),
                .s_host_tkeep(s_axis_sync_tx_tkeep[port*KEEP_W +: KEEP_W]),
                .s_host_tvalid(s_axis_sync_tx_tvalid[port]),
                .s_host_tready(s_axis_sync_tx_tready[port]),
                .s_host_tlast(s_axis_sync_tx_tlast[port]),
                .s_host_tuser(s_axis_sync_tx_tuser[port*TX_W +: TX_W]),
                .m_host_tdata(m_axis_sync_rx_tdata[port*DATA_W +: DATA_W]),
                .m_host_tkeep(m_axis_sync_rx_tkeep[port*KEEP_W +: KEEP_W]),
                .m_host_tvalid(m_axis_sync_rx_tvalid[port]),
                .m_host_tready(m_axis_sync_rx_tready[port]),
                .m_host_tlast(m_axis_sync_rx_tlast[port]),
                .m_host_tuser(m_axis_sync_rx_tuser[port*RX_W +: RX_W])
            );
            // a NIC begins a frame when it may; a sink may wait for it to begin
            axis_slice #(.DATA_W(DATA_W), .USER_W(TX_W)) slice (
                .clk(clk), .rst(rst), .s_tdata(tx_tdata), .s_tkeep(tx_tkeep),
                .s_tvalid(tx_tvalid), .s_tready(tx_tready), .s_tlast(tx_tlast),
                .s_tuser(tx_tuser),
                .m_tdata(m_axis_sync_tx_tdata[port*DATA_W +: DATA_W]),
                .m_tkeep(m_axis_sync_tx_tkeep[port*KEEP_W +: KEEP_W]),
                .m_tvalid(m_axis_sync_tx_tvalid[port]),
                .m_tready(m_axis_sync_tx_tready[port]),
                .m_tlast(m_axis_sync_tx_tlast[port]),
                .m_tuser(m_axis_sync_tx_tuser[port*TX_W +: TX_W])
            );
        end
    endgenerate

    // --- tiers and completions that pass ---------------------------------------------------------
    assign s_axis_direct_tx_tready = m_axis_direct_tx_tready;
    assign m_axis_direct_tx_tdata = s_axis_direct_tx_tdata;
    assign m_axis_direct_tx_tkeep = s_axis_direct_tx_tkeep;
    assign m_axis_direct_tx_tvalid = s_axis_direct_tx_tvalid;
    assign m_axis_direct_tx_tlast = s_axis_direct_tx_tlast;
    assign m_axis_direct_tx_tuser = s_axis_direct_tx_tuser;
    assign s_axis_direct_tx_cpl_ready = m_axis_direct_tx_cpl_ready;
    assign m_axis_direct_tx_cpl_ts = s_axis_direct_tx_cpl_ts;
    assign m_axis_direct_tx_cpl_tag = s_axis_direct_tx_cpl_tag;
    assign m_axis_direct_tx_cpl_valid = s_axis_direct_tx_cpl_valid;
    assign s_axis_direct_rx_tready = m_axis_direct_rx_tready;
    assign m_axis_direct_rx_tdata = s_axis_direct_rx_tdata;
    assign m_axis_direct_rx_tkeep = s_axis_direct_rx_tkeep;
    assign m_axis_direct_rx_tvalid = s_axis_direct_rx_tvalid;
    assign m_axis_direct_rx_tlast = s_axis_direct_rx_tlast;
    assign m_axis_direct_rx_tuser = s_axis_direct_rx_tuser;
    assign s_axis_sync_tx_cpl_ready = m_axis_sync_tx_cpl_ready;
    assign m_axis_sync_tx_cpl_ts = s_axis_sync_tx_cpl_ts;
    assign m_axis_sync_tx_cpl_tag = s_axis_sync_tx_cpl_tag;
    assign m_axis_sync_tx_cpl_valid = s_axis_sync_tx_cpl_valid;
    assign s_axis_if_tx_tready = m_axis_if_tx_tready;
    assign m_axis_if_tx_tdata = s_axis_if_tx_tdata;
    assign m_axis_if_tx_tkeep = s_axis_if_tx_tkeep;
    assign m_axis_if_tx_tvalid = s_axis_if_tx_tvalid;
    assign m_axis_if_tx_tlast = s_axis_if_tx_tlast;
    assign m_axis_if_tx_tid = s_axis_if_tx_tid;
    assign m_axis_if_tx_tdest = s_axis_if_tx_tdest;
    assign m_axis_if_tx_tuser = s_axis_if_tx_tuser;
    assign s_axis_if_tx_cpl_ready = m_axis_if_tx_cpl_ready;
    assign m_axis_if_tx_cpl_ts = s_axis_if_tx_cpl_ts;
    assign m_axis_if_tx_cpl_tag = s_axis_if_tx_cpl_tag;
    assign m_axis_if_tx_cpl_valid = s_axis_if_tx_cpl_valid;
    assign s_axis_if_rx_tready = m_axis_if_rx_tready;
    assign m_axis_if_rx_tdata = s_axis_if_rx_tdata;
    assign m_axis_if_rx_tkeep = s_axis_if_rx_tkeep;
    assign m_axis_if_rx_tvalid = s_axis_if_rx_tvalid;
    assign m_axis_if_rx_tlast = s_axis_if_rx_tlast;
    assign m_axis_if_rx_tid = s_axis_if_rx_tid;
    assign m_axis_if_rx_tdest = s_axis_if_rx_tdest;
    assign m_axis_if_rx_tuser = s_axis_if_rx_tuser;

    // --- not used --------------------------------------------------------------------------------
    assign m_axil_ctrl_awaddr = {AXIL_CTRL_ADDR_WIDTH{1'b0}};
    assign m_axil_ctrl_awprot = 3'd0;
    assign m_axil_ctrl_awvalid = 1'b0;
    assign m_axil_ctrl_wdata = {AXIL_CTRL_DATA_WIDTH{1'b0}};
    assign m_axil_ctrl_wstrb = {AXIL_CTRL_STRB_WIDTH{1'b0}};
    assign m_axil_ctrl_wvalid = 1'b0;
    assign m_axil_ctrl_bready = 1'b1;
    assign m_axil_ctrl_araddr = {AXIL_CTRL_ADDR_WIDTH{1'b0}};
    assign m_axil_ctrl_arprot = 3'd0;
    assign m_axil_ctrl_arvalid = 1'b0;
    assign m_axil_ctrl_rready = 1'b1;
    assign m_axis_ctrl_dma_read_desc_dma_addr = {DMA_ADDR_WIDTH{1'b0}};
    assign m_axis_ctrl_dma_read_desc_ram_sel = {RAM_SEL_WIDTH{1'b0}};
    assign m_axis_ctrl_dma_read_desc_ram_addr = {RAM_ADDR_WIDTH{1'b0}};
    assign m_axis_ctrl_dma_read_desc_len = {DMA_LEN_WIDTH{1'b0}};
    assign m_axis_ctrl_dma_read_desc_tag = {DMA_TAG_WIDTH{1'b0}};
    assign m_axis_ctrl_dma_read_desc_valid = 1'b0;
    assign m_axis_ctrl_dma_write_desc_dma_addr = {DMA_ADDR_WIDTH{1'b0}};
    assign m_axis_ctrl_dma_write_desc_ram_sel = {RAM_SEL_WIDTH{1'b0}};
    assign m_axis_ctrl_dma_write_desc_ram_addr = {RAM_ADDR_WIDTH{1'b0}};
    assign m_axis_ctrl_dma_write_desc_imm = {DMA_IMM_WIDTH{1'b0}};
    assign m_axis_ctrl_dma_write_desc_imm_en = 1'b0;
    assign m_axis_ctrl_dma_write_desc_len = {DMA_LEN_WIDTH{1'b0}};
    assign m_axis_ctrl_dma_write_desc_tag = {DMA_TAG_WIDTH{1'b0}};
    assign m_axis_ctrl_dma_write_desc_valid = 1'b0;
    assign m_axis_data_dma_read_desc_dma_addr = {DMA_ADDR_WIDTH{1'b0}};
    assign m_axis_data_dma_read_desc_ram_sel = {RAM_SEL_WIDTH{1'b0}};
    assign m_axis_data_dma_read_desc_ram_addr = {RAM_ADDR_WIDTH{1'b0}};
    assign m_axis_data_dma_read_desc_len = {DMA_LEN_WIDTH{1'b0}};
    assign m_axis_data_dma_read_desc_tag = {DMA_TAG_WIDTH{1'b0}};
    assign m_axis_data_dma_read_desc_valid = 1'b0;
    assign m_axis_data_dma_write_desc_dma_addr = {DMA_ADDR_WIDTH{1'b0}};
    assign m_axis_data_dma_write_desc_ram_sel = {RAM_SEL_WIDTH{1'b0}};
    assign m_axis_data_dma_write_desc_ram_addr = {RAM_ADDR_WIDTH{1'b0}};
    assign m_axis_data_dma_write_desc_imm = {DMA_IMM_WIDTH{1'b0}};
    assign m_axis_data_dma_write_desc_imm_en = 1'b0;
    assign m_axis_data_dma_write_desc_len = {DMA_LEN_WIDTH{1'b0}};
    assign m_axis_data_dma_write_desc_tag = {DMA_TAG_WIDTH{1'b0}};
    assign m_axis_data_dma_write_desc_valid = 1'b0;
    assign ctrl_dma_ram_wr_cmd_ready = {RAM_SEG_COUNT{1'b1}};
    assign ctrl_dma_ram_wr_done = ctrl_dma_ram_wr_cmd_valid;
    assign ctrl_dma_ram_rd_cmd_ready = ctrl_dma_ram_rd_resp_ready;
    assign ctrl_dma_ram_rd_resp_data = {(RAM_SEG_COUNT*RAM_SEG_DATA_WIDTH){1'b0}};
    assign ctrl_dma_ram_rd_resp_valid = ctrl_dma_ram_rd_cmd_valid;
    assign data_dma_ram_wr_cmd_ready = {RAM_SEG_COUNT{1'b1}};
    assign data_dma_ram_wr_done = data_dma_ram_wr_cmd_valid;
    assign data_dma_ram_rd_cmd_ready = data_dma_ram_rd_resp_ready;
    assign data_dma_ram_rd_resp_data = {(RAM_SEG_COUNT*RAM_SEG_DATA_WIDTH){1'b0}};
    assign data_dma_ram_rd_resp_valid = data_dma_ram_rd_cmd_valid;
    assign m_axi_ddr_awid = {(DDR_CH*AXI_DDR_ID_WIDTH){1'b0}};
    assign m_axi_ddr_awaddr = {(DDR_CH*AXI_DDR_ADDR_WIDTH){1'b0}};
    assign m_axi_ddr_awlen = {(DDR_CH*8){1'b0}};
    assign m_axi_ddr_awsize = {(DDR_CH*3){1'b0}};
    assign m_axi_ddr_awburst = {(DDR_CH*2){1'b0}};
    assign m_axi_ddr_awlock = {DDR_CH{1'b0}};
    assign m_axi_ddr_awcache = {(DDR_CH*4){1'b0}};
    assign m_axi_ddr_awprot = {(DDR_CH*3){1'b0}};
    assign m_axi_ddr_awqos = {(DDR_CH*4){1'b0}};
    assign m_axi_ddr_awuser = {(DDR_CH*AXI_DDR_AWUSER_WIDTH){1'b0}};
    assign m_axi_ddr_awvalid = {DDR_CH{1'b0}};
    assign m_axi_ddr_wdata = {(DDR_CH*AXI_DDR_DATA_WIDTH){1'b0}};
    assign m_axi_ddr_wstrb = {(DDR_CH*AXI_DDR_STRB_WIDTH){1'b0}};
    assign m_axi_ddr_wlast = {DDR_CH{1'b0}};
    assign m_axi_ddr_wuser = {(DDR_CH*AXI_DDR_WUSER_WIDTH){1'b0}};
    assign m_axi_ddr_wvalid = {DDR_CH{1'b0}};
    assign m_axi_ddr_bready = {DDR_CH{1'b0}};
    assign m_axi_ddr_arid = {(DDR_CH*AXI_DDR_ID_WIDTH){1'b0}};
    assign m_axi_ddr_araddr = {(DDR_CH*AXI_DDR_ADDR_WIDTH){1'b0}};
    assign m_axi_ddr_arlen = {(DDR_CH*8){1'b0}};
    assign m_axi_ddr_arsize = {(DDR_CH*3){1'b0}};
    assign m_axi_ddr_arburst = {(DDR_CH*2){1'b0}};
    assign m_axi_ddr_arlock = {DDR_CH{1'b0}};
    assign m_axi_ddr_arcache = {(DDR_CH*4){1'b0}};
    assign m_axi_ddr_arprot = {(DDR_CH*3){1'b0}};
    assign m_axi_ddr_arqos = {(DDR_CH*4){1'b0}};
    assign m_axi_ddr_aruser = {(DDR_CH*AXI_DDR_ARUSER_WIDTH){1'b0}};
    assign m_axi_ddr_arvalid = {DDR_CH{1'b0}};
    assign m_axi_ddr_rready = {DDR_CH{1'b0}};
    assign m_axi_hbm_awid = {(HBM_CH*AXI_HBM_ID_WIDTH){1'b0}};
    assign m_axi_hbm_awaddr = {(HBM_CH*AXI_HBM_ADDR_WIDTH){1'b0}};
    assign m_axi_hbm_awlen = {(HBM_CH*8){1'b0}};
    assign m_axi_hbm_awsize = {(HBM_CH*3){1'b0}};
    assign m_axi_hbm_awburst = {(HBM_CH*2){1'b0}};
    assign m_axi_hbm_awlock = {HBM_CH{1'b0}};
    assign m_axi_hbm_awcache = {(HBM_CH*4){1'b0}};
    assign m_axi_hbm_awprot = {(HBM_CH*3){1'b0}};
    assign m_axi_hbm_awqos = {(HBM_CH*4){1'b0}};
    assign m_axi_hbm_awuser = {(HBM_CH*AXI_HBM_AWUSER_WIDTH){1'b0}};
    assign m_axi_hbm_awvalid = {HBM_CH{1'b0}};
    assign m_axi_hbm_wdata = {(HBM_CH*AXI_HBM_DATA_WIDTH){1'b0}};
    assign m_axi_hbm_wstrb = {(HBM_CH*AXI_HBM_STRB_WIDTH){1'b0}};
    assign m_axi_hbm_wlast = {HBM_CH{1'b0}};
    assign m_axi_hbm_wuser = {(HBM_CH*AXI_HBM_WUSER_WIDTH){1'b0}};
    assign m_axi_hbm_wvalid = {HBM_CH{1'b0}};
    assign m_axi_hbm_bready = {HBM_CH{1'b0}};
    assign m_axi_hbm_arid = {(HBM_CH*AXI_HBM_ID_WIDTH){1'b0}};
    assign m_axi_hbm_araddr = {(HBM_CH*AXI_HBM_ADDR_WIDTH){1'b0}};
    assign m_axi_hbm_arlen = {(HBM_CH*8){1'b0}};
    assign m_axi_hbm_arsize = {(HBM_CH*3){1'b0}};
    assign m_axi_hbm_arburst = {(HBM_CH*2){1'b0}};
    assign m_axi_hbm_arlock = {HBM_CH{1'b0}};
    assign m_axi_hbm_arcache = {(HBM_CH*4){1'b0}};
    assign m_axi_hbm_arprot = {(HBM_CH*3){1'b0}};
    assign m_axi_hbm_arqos = {(HBM_CH*4){1'b0}};
    assign m_axi_hbm_aruser = {(HBM_CH*AXI_HBM_ARUSER_WIDTH){1'b0}};
    assign m_axi_hbm_arvalid = {HBM_CH{1'b0}};
    assign m_axi_hbm_rready = {HBM_CH{1'b0}};
    assign m_axis_stat_tdata = {STAT_INC_WIDTH{1'b0}};
    assign m_axis_stat_tid = {STAT_ID_WIDTH{1'b0}};
    assign m_axis_stat_tvalid = 1'b0;
    assign gpio_out = {APP_GPIO_OUT_WIDTH{1'b0}};
    assign jtag_tdo = jtag_tdi;
endmodule
/* verilator lint_on UNUSEDSIGNAL */
/* verilator lint_on UNUSEDPARAM */

`default_nettype wire
