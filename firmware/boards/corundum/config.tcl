# Sourced by a Corundum board's config.tcl before the PCIe settings: our application block
# and what it needs of Corundum. Sizes come from the environment, see README.md.
dict set params APP_ID "32'h51420100"
dict set params APP_ENABLE "1"
dict set params APP_CTRL_ENABLE "0"
dict set params APP_DMA_ENABLE "0"
dict set params APP_AXIS_DIRECT_ENABLE "0"
dict set params APP_AXIS_SYNC_ENABLE "1"
dict set params APP_AXIS_IF_ENABLE "0"
dict set params APP_STAT_ENABLE "0"
dict set params AXIL_APP_CTRL_ADDR_WIDTH "24"

set tailback_macros {}
foreach name {TAILBACK_LIMITERS TAILBACK_FLOWS TAILBACK_ROOM TAILBACK_HOST_WORDS TAILBACK_DELAY_WORDS} {
    if {[info exists ::env($name)]} {
        lappend tailback_macros $name=$::env($name)
    }
}
set_property verilog_define [concat [get_property verilog_define [get_filesets sources_1]] $tailback_macros] [get_filesets sources_1]
