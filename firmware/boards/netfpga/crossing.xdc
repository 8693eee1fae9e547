# What axil_crossing holds still while a line tells of it: within a clock of the receiving side.
set_max_delay -datapath_only 4.0 -from [get_cells -hierarchical -filter {NAME =~ *crossing/held_*}]
set_max_delay -datapath_only 4.0 -to [get_cells -hierarchical -filter {NAME =~ *crossing/*_there_reg[0]}]
set_max_delay -datapath_only 4.0 -to [get_cells -hierarchical -filter {NAME =~ *crossing/*_here_reg[0]}]
