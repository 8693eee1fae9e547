// ns-3: hosts on links of their own into a switch with one FIFO, which drops at its tail.
//
//   ns3_dumbbell fifo SERVICE BUFFER DELAY_PS STOP_PS ACCESS  INTERVAL_PS START_PS SIZE ...
//   ns3_dumbbell tcp  SERVICE BUFFER DELAY_PS STOP_PS ACCESS  TYPE SEED FLOWS SEGMENT K
//
// fifo: prints "flow sequence time_ps" for every frame that arrives, then "drops N". Devices alone,
// no IP: the switch hands each frame to its output. SIZE counts PPP's two octets.
// tcp: prints goodput per flow (bit/s), then the queue over the second half: mean, least
// and greatest (bytes). TYPE is one of ns-3's, such as TcpDctcp, which has RED with both thresholds
// at K bytes.
#include <cstdint>
#include <iostream>
#include <string>
#include <vector>

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

using namespace ns3;

namespace
{
constexpr uint16_t PROTOCOL = 0x0800;
constexpr uint32_t PPP = 2;
uint64_t g_drops = 0;

class Number : public Tag
{
  public:
    static TypeId GetTypeId()
    {
        static TypeId id = TypeId("Number").SetParent<Tag>().AddConstructor<Number>();
        return id;
    }
    TypeId GetInstanceTypeId() const override { return GetTypeId(); }
    uint32_t GetSerializedSize() const override { return 8; }
    void Serialize(TagBuffer b) const override { b.WriteU32(flow); b.WriteU32(sequence); }
    void Deserialize(TagBuffer b) override { flow = b.ReadU32(); sequence = b.ReadU32(); }
    void Print(std::ostream& out) const override { out << flow << " " << sequence; }
    uint32_t flow = 0;
    uint32_t sequence = 0;
};

struct Source
{
    int64_t interval, start;
    uint32_t size, flow, sequence = 0;
    Ptr<NetDevice> device;
    void Send()
    {
        Ptr<Packet> packet = Create<Packet>(size - PPP);
        Number number;
        number.flow = flow;
        number.sequence = sequence++;
        packet->AddPacketTag(number);
        device->Send(packet, device->GetBroadcast(), PROTOCOL);
        Simulator::Schedule(PicoSeconds(interval), &Source::Send, this);
    }
};

bool Arrived(Ptr<NetDevice>, Ptr<const Packet> packet, uint16_t, const Address&)
{
    Number number;
    packet->PeekPacketTag(number);
    std::cout << number.flow << " " << number.sequence << " "
              << Simulator::Now().GetPicoSeconds() << "\n";
    return true;
}

void Dropped(Ptr<const Packet>) { g_drops++; }

int Fifo(int count, char** words)
{
    const int64_t delay = std::stoll(words[2]), stop = std::stoll(words[3]);
    Ptr<Node> center = CreateObject<Node>(), sink = CreateObject<Node>();
    PointToPointHelper out, in;
    out.SetDeviceAttribute("DataRate", StringValue(words[0]));
    out.SetChannelAttribute("Delay", TimeValue(PicoSeconds(delay)));
    out.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", StringValue(words[1]));
    in.SetDeviceAttribute("DataRate", StringValue(words[4]));
    in.SetChannelAttribute("Delay", TimeValue(PicoSeconds(delay)));
    NetDeviceContainer bottleneck = out.Install(center, sink);
    Ptr<NetDevice> output = bottleneck.Get(0);
    DynamicCast<PointToPointNetDevice>(output)->GetQueue()->TraceConnectWithoutContext(
        "Drop", MakeCallback(&Dropped));
    bottleneck.Get(1)->SetReceiveCallback(MakeCallback(&Arrived));
    std::vector<Source> sources((count - 5) / 3);
    for (size_t i = 0; i < sources.size(); i++)
    {
        NetDeviceContainer link = in.Install(CreateObject<Node>(), center);
        link.Get(1)->SetReceiveCallback(
            [output](Ptr<NetDevice>, Ptr<const Packet> packet, uint16_t, const Address&) {
                output->Send(packet->Copy(), output->GetBroadcast(), PROTOCOL);
                return true;
            });
        char** mine = words + 5 + 3 * i;
        sources[i].interval = std::stoll(mine[0]);
        sources[i].start = std::stoll(mine[1]);
        sources[i].size = std::stoul(mine[2]);
        sources[i].flow = i;
        sources[i].device = link.Get(0);
        Simulator::Schedule(PicoSeconds(sources[i].start), &Source::Send, &sources[i]);
    }
    Simulator::Stop(PicoSeconds(stop));
    Simulator::Run();
    std::cout << "drops " << g_drops << "\n";
    return 0;
}

double g_area = 0;
int64_t g_from = 0, g_last = 0;
uint32_t g_bytes = 0, g_highest = 0, g_lowest = 1 << 30;

void Queue(uint32_t, uint32_t now)
{
    const int64_t at = Simulator::Now().GetPicoSeconds();
    if (at > g_from)
    {
        g_highest = std::max(g_highest, now);
        g_lowest = std::min(g_lowest, now);
        g_area += double(g_bytes) * double(at - std::max(g_last, g_from));
    }
    g_last = at;
    g_bytes = now;
}

int Tcp(char** words)
{
    const int64_t delay = std::stoll(words[2]), stop = std::stoll(words[3]);
    const std::string type = words[5];
    const uint32_t flows = std::stoul(words[7]), segment = std::stoul(words[8]);
    const bool dctcp = type == "TcpDctcp";
    RngSeedManager::SetSeed(std::stoul(words[6]));
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", StringValue("ns3::" + type));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(segment));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(1 << 24));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(1 << 24));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(1));
    Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(MilliSeconds(200)));
    if (dctcp)
    {
        Config::SetDefault("ns3::TcpSocketBase::UseEcn", StringValue("On"));
        Config::SetDefault("ns3::RedQueueDisc::UseEcn", BooleanValue(true));
        Config::SetDefault("ns3::RedQueueDisc::UseHardDrop", BooleanValue(false));
        Config::SetDefault("ns3::RedQueueDisc::QW", DoubleValue(1));
        Config::SetDefault("ns3::RedQueueDisc::MeanPktSize", UintegerValue(segment + 52));
    }
    NodeContainer routers, senders, receivers;
    routers.Create(2);
    senders.Create(flows);
    receivers.Create(flows);
    PointToPointHelper access, middle, exit;
    access.SetDeviceAttribute("DataRate", StringValue(words[4]));
    access.SetChannelAttribute("Delay", TimeValue(PicoSeconds(delay)));
    exit.SetDeviceAttribute("DataRate", StringValue("1000Gbps"));
    exit.SetChannelAttribute("Delay", TimeValue(PicoSeconds(0)));
    middle.SetDeviceAttribute("DataRate", StringValue(words[0]));
    middle.SetChannelAttribute("Delay", TimeValue(PicoSeconds(delay)));
    middle.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", StringValue("1p"));
    InternetStackHelper().InstallAll();
    NetDeviceContainer bottleneck = middle.Install(routers);
    TrafficControlHelper control;
    if (dctcp)
    {
        const double k = std::stod(words[9]);
        control.SetRootQueueDisc("ns3::RedQueueDisc", "MinTh", DoubleValue(k), "MaxTh",
                                 DoubleValue(k), "MaxSize", StringValue(words[1]), "LinkBandwidth",
                                 StringValue(words[0]), "LinkDelay",
                                 TimeValue(PicoSeconds(delay)));
    }
    else
    {
        control.SetRootQueueDisc("ns3::FifoQueueDisc", "MaxSize", StringValue(words[1]));
    }
    QueueDiscContainer discs = control.Install(bottleneck.Get(0));
    discs.Get(0)->TraceConnectWithoutContext("BytesInQueue", MakeCallback(&Queue));
    Ipv4AddressHelper addresses("10.0.0.0", "255.255.255.0");
    addresses.Assign(bottleneck);
    std::vector<ApplicationContainer> sinks;
    Ptr<UniformRandomVariable> jitter = CreateObject<UniformRandomVariable>();
    for (uint32_t i = 0; i < flows; i++)
    {
        addresses.NewNetwork();
        addresses.Assign(access.Install(senders.Get(i), routers.Get(0)));
        addresses.NewNetwork();
        NetDeviceContainer last = exit.Install(routers.Get(1), receivers.Get(i));
        Ipv4InterfaceContainer there = addresses.Assign(last);
        InetSocketAddress to(there.GetAddress(1), 5000);
        PacketSinkHelper sink("ns3::TcpSocketFactory", to);
        sinks.push_back(sink.Install(receivers.Get(i)));
        BulkSendHelper bulk("ns3::TcpSocketFactory", to);
        bulk.SetAttribute("MaxBytes", UintegerValue(0));
        bulk.SetAttribute("SendSize", UintegerValue(segment));
        ApplicationContainer sender = bulk.Install(senders.Get(i));
        sender.Start(MicroSeconds(jitter->GetInteger(0, 1000)));
    }
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();
    g_from = stop / 2;
    std::vector<uint64_t> before(flows);
    Simulator::Schedule(PicoSeconds(g_from), [&] {
        for (uint32_t i = 0; i < flows; i++)
        {
            before[i] = DynamicCast<PacketSink>(sinks[i].Get(0))->GetTotalRx();
        }
    });
    Simulator::Stop(PicoSeconds(stop));
    Simulator::Run();
    Queue(g_bytes, g_bytes);
    for (uint32_t i = 0; i < flows; i++)
    {
        const uint64_t got = DynamicCast<PacketSink>(sinks[i].Get(0))->GetTotalRx() - before[i];
        std::cout << double(got) * 8e12 / double(stop - g_from) << "\n";
    }
    std::cout << "queue " << g_area / double(stop - g_from) << " " << g_lowest << " " << g_highest
              << "\n";
    return 0;
}
} // namespace

int main(int count, char** words)
{
    Time::SetResolution(Time::PS);
    const std::string what = count > 1 ? words[1] : "";
    if (what == "fifo" && count >= 10 && (count - 7) % 3 == 0)
    {
        return Fifo(count - 2, words + 2);
    }
    if (what == "tcp" && count == 12)
    {
        return Tcp(words + 2);
    }
    std::cerr << "usage: see the head of the source\n";
    return 2;
}
