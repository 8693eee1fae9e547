// ns-3: a fat tree of k^3/4 hosts whose TCP flows carry a message each, with DCTCP.
//
//   peer_ns3_tree K RATE DELAY_PS BUFFER THRESHOLD SIZE STOP_PS < "FROM TO" lines, hosts by number
//
// Prints: data segments that arrived, CPU seconds of Simulator::Run alone, messages that were whole
// by STOP_PS, the mean of their completion times (ps), most resident memory (KiB).
// Routes are ns-3's nix vectors: one of the shortest paths for each pair, found when it is first
// needed. A segment has 1 448 octets.
#include <sys/resource.h>

#include <ctime>
#include <iostream>
#include <string>
#include <vector>

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/nix-vector-routing-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

using namespace ns3;

namespace
{
constexpr uint32_t SEGMENT = 1448;
uint64_t g_size = 0, g_whole = 0, g_octets = 0;
double g_completion = 0;
std::vector<uint64_t> g_got;

void Received(uint32_t flow, Ptr<const Packet> packet, const Address&)
{
    g_octets += packet->GetSize();
    g_got[flow] += packet->GetSize();
    if (g_got[flow] == g_size)
    {
        g_whole++;
        g_completion += double(Simulator::Now().GetPicoSeconds());
    }
}

double CpuSeconds() { return double(clock()) / CLOCKS_PER_SEC; }
} // namespace

int main(int count, char** words)
{
    if (count != 8)
    {
        std::cerr << "7 arguments are expected\n";
        return 2;
    }
    const uint32_t k = std::stoul(words[1]), half = k / 2;
    const double threshold = std::stod(words[5]);
    g_size = std::stoull(words[6]);
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", StringValue("ns3::TcpDctcp"));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(SEGMENT));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(1 << 24));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(1 << 24));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(1));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(10));
    Config::SetDefault("ns3::TcpSocketBase::UseEcn", StringValue("On"));
    Config::SetDefault("ns3::RedQueueDisc::UseEcn", BooleanValue(true));
    Config::SetDefault("ns3::RedQueueDisc::UseHardDrop", BooleanValue(false));
    Config::SetDefault("ns3::RedQueueDisc::QW", DoubleValue(1));
    Config::SetDefault("ns3::RedQueueDisc::MeanPktSize", UintegerValue(SEGMENT + 52));
    NodeContainer hosts, edges, aggregations, cores;
    hosts.Create(k * half * half);
    edges.Create(k * half);
    aggregations.Create(k * half);
    cores.Create(half * half);
    InternetStackHelper stack;
    stack.SetRoutingHelper(Ipv4NixVectorHelper());
    stack.InstallAll();
    PointToPointHelper link;
    link.SetDeviceAttribute("DataRate", StringValue(words[2]));
    link.SetChannelAttribute("Delay", TimeValue(PicoSeconds(std::stoll(words[3]))));
    link.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", StringValue("1p"));
    TrafficControlHelper control;
    control.SetRootQueueDisc("ns3::RedQueueDisc", "MinTh", DoubleValue(threshold), "MaxTh",
                             DoubleValue(threshold), "MaxSize", StringValue(words[4]),
                             "LinkBandwidth", StringValue(words[2]), "LinkDelay",
                             TimeValue(PicoSeconds(std::stoll(words[3]))));
    Ipv4AddressHelper addresses("10.0.0.0", "255.255.255.252");
    const auto join = [&](Ptr<Node> one, Ptr<Node> other) {
        NetDeviceContainer ends = link.Install(one, other);
        control.Install(ends);
        addresses.Assign(ends);
        addresses.NewNetwork();
    };
    for (uint32_t host = 0; host < hosts.GetN(); host++)
    {
        join(hosts.Get(host), edges.Get(host / half));
    }
    for (uint32_t edge = 0; edge < edges.GetN(); edge++)
    {
        for (uint32_t up = 0; up < half; up++)
        {
            join(edges.Get(edge), aggregations.Get(edge / half * half + up));
        }
    }
    for (uint32_t aggregation = 0; aggregation < aggregations.GetN(); aggregation++)
    {
        for (uint32_t up = 0; up < half; up++)
        {
            join(aggregations.Get(aggregation), cores.Get(aggregation % half * half + up));
        }
    }
    uint32_t from, to, flow = 0;
    while (std::cin >> from >> to)
    {
        Ptr<Ipv4> there = hosts.Get(to)->GetObject<Ipv4>();
        InetSocketAddress address(there->GetAddress(1, 0).GetLocal(), 5000 + flow);
        PacketSinkHelper sink("ns3::TcpSocketFactory", address);
        Ptr<Application> end = sink.Install(hosts.Get(to)).Get(0);
        end->TraceConnectWithoutContext("Rx", MakeBoundCallback(&Received, flow++));
        BulkSendHelper bulk("ns3::TcpSocketFactory", address);
        bulk.SetAttribute("MaxBytes", UintegerValue(g_size));
        bulk.SetAttribute("SendSize", UintegerValue(SEGMENT));
        bulk.Install(hosts.Get(from));
    }
    g_got.resize(flow);
    Simulator::Stop(PicoSeconds(std::stoll(words[7])));
    const double before = CpuSeconds();
    Simulator::Run();
    const double cpu = CpuSeconds() - before;
    rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    std::cout << g_octets / SEGMENT << " " << cpu << " " << g_whole << " "
              << g_completion / double(g_whole) << " " << usage.ru_maxrss << "\n";
    return 0;
}
