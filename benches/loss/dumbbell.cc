// Unlimited TCP flows over one bottleneck in ns-3, set as the scenarios of this bench are.
//   dumbbell KEY=VALUE ...          times in ns, rates in bit/s; one JSON object on stdout
//
// sender i --edge-- left --rate-- right --edge-- receiver i, each line with the delay `leg`.
// Drops, queue and goodput count after `warmup`, recoveries over the whole run.

#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <map>
#include <stdexcept>
#include <string>

using namespace ns3;

namespace
{

std::map<std::string, std::string> g_options{
    {"cc", "TcpCubic"},    {"hystart", "1"},  {"sack", "1"},         {"flows", "4"},
    {"rate", "100000000"}, {"leg", "1667000"}, {"edge", "400000000"}, {"buffer", "2000"},
    {"aqm", "fifo"},       {"target", "0"},   {"interval", "0"},     {"loss", "0"},
    {"outage", "0"},       {"every", "0"},    {"delack", "40000000"}, {"duration", "12000000000"},
    {"warmup", "3000000000"}, {"seed", "1"},  {"jitter", "10000"}};

const std::string&
Text(const std::string& key)
{
    return g_options.at(key);
}

int64_t
Number(const std::string& key)
{
    return std::stoll(Text(key));
}

Time
Span(const std::string& key)
{
    return NanoSeconds(Number(key));
}

bool g_measuring = false;
uint64_t g_aqmDrops = 0;
uint64_t g_bufferDrops = 0;
uint64_t g_lost = 0;
uint64_t g_recoveries = 0;
uint64_t g_timeouts = 0;
uint64_t g_received = 0;

// Packets that wait for the bottleneck, averaged over time: those in the disc and the one in the
// device's queue, without the packet in transmission.
struct WaitingPackets
{
    uint32_t length = 0;
    uint32_t max = 0;
    double area = 0;
    Time since;

    void Change(int by)
    {
        Time now = Simulator::Now();
        if (g_measuring)
        {
            area += length * (now - since).GetSeconds();
        }
        since = now;
        length += by;
        max = g_measuring ? std::max(max, length) : 0;
    }
} g_waiting;

void
StateChanged(const TcpSocketState::TcpCongState_t, const TcpSocketState::TcpCongState_t state)
{
    g_recoveries += state == TcpSocketState::CA_RECOVERY;
    g_timeouts += state == TcpSocketState::CA_LOSS;
}

void
Read(Ptr<Socket> socket)
{
    while (Ptr<Packet> packet = socket->Recv())
    {
        if (packet->GetSize() == 0)
        {
            return;
        }
        g_received += g_measuring ? packet->GetSize() : 0;
    }
}

void
Write(Ptr<Socket> socket, uint32_t)
{
    while (uint32_t room = std::min<uint32_t>(socket->GetTxAvailable(), 1 << 18))
    {
        if (socket->Send(Create<Packet>(room)) <= 0)
        {
            return;
        }
    }
}

void
Open(Ptr<Node> node, Ipv4Address receiver)
{
    Ptr<Socket> socket = Socket::CreateSocket(node, TcpSocketFactory::GetTypeId());
    socket->Bind();
    socket->TraceConnectWithoutContext("CongState", MakeCallback(&StateChanged));
    socket->SetSendCallback(MakeCallback(&Write));
    socket->Connect(InetSocketAddress(receiver, 5001));
    // The socket closes with the last reference to it.
    static std::vector<Ptr<Socket>> open;
    open.push_back(socket);
}

void
Listen(Ptr<Node> node)
{
    Ptr<Socket> socket = Socket::CreateSocket(node, TcpSocketFactory::GetTypeId());
    socket->Bind(InetSocketAddress(Ipv4Address::GetAny(), 5001));
    socket->Listen();
    socket->SetAcceptCallback(
        MakeNullCallback<bool, Ptr<Socket>, const Address&>(),
        Callback<void, Ptr<Socket>, const Address&>([](Ptr<Socket> accepted, const Address&) {
            accepted->SetRecvCallback(MakeCallback(&Read));
        }));
}

void
Defaults()
{
    RngSeedManager::SetSeed(Number("seed"));
    auto set = [](const char* name, const AttributeValue& value) {
        Config::SetDefault(std::string("ns3::") + name, value);
    };
    set("TcpL4Protocol::SocketType", StringValue("ns3::" + Text("cc")));
    set("TcpCubic::HyStart", BooleanValue(Number("hystart") != 0));
    set("TcpSocketBase::Sack", BooleanValue(Number("sack") != 0));
    set("TcpSocketBase::UseEcn", StringValue("Off"));
    set("TcpSocketBase::MinRto", TimeValue(MilliSeconds(200)));
    set("TcpSocketBase::ClockGranularity", TimeValue(MilliSeconds(4)));
    set("TcpSocket::SegmentSize", UintegerValue(1448));
    set("TcpSocket::InitialCwnd", UintegerValue(10));
    set("TcpSocket::ConnTimeout", TimeValue(Seconds(1)));
    set("TcpSocket::DelAckCount", UintegerValue(2));
    set("TcpSocket::DelAckTimeout", TimeValue(Span("delack")));
    set("TcpSocket::SndBufSize", UintegerValue(16000000));
    set("TcpSocket::RcvBufSize", UintegerValue(16000000));
    set("CoDelQueueDisc::Target", TimeValue(Span("target")));
    set("CoDelQueueDisc::Interval", TimeValue(Span("interval")));
    set("PieQueueDisc::QueueDelayReference", TimeValue(Span("target")));
    set("PieQueueDisc::Tupdate", TimeValue(Span("interval")));
    set("PieQueueDisc::MeanPktSize", UintegerValue(1500));
}

struct Line
{
    Ptr<PointToPointNetDevice> a;
    Ptr<PointToPointNetDevice> b;
    Ipv4Address addressB;
};

// A line whose ends queue without limit and without a disc: assigning an address installs one.
Line
Connect(Ptr<Node> a, Ptr<Node> b, uint64_t rate)
{
    PointToPointHelper helper;
    // The device adds 2 bytes to each packet; the scenarios count IP packets.
    helper.SetDeviceAttribute("DataRate", DataRateValue(DataRate(rate / 1500.0 * 1502)));
    helper.SetChannelAttribute("Delay", TimeValue(Span("leg")));
    NetDeviceContainer ends = helper.Install(a, b);
    static uint32_t network = 0;
    Ipv4AddressHelper addresses(Ipv4Address(10u << 24 | ++network << 8), "255.255.255.0");
    Ipv4InterfaceContainer interfaces = addresses.Assign(ends);
    for (uint32_t i = 0; i < 2; ++i)
    {
        TrafficControlHelper().Uninstall(ends.Get(i));
        DynamicCast<PointToPointNetDevice>(ends.Get(i))->GetQueue()->SetMaxSize(
            QueueSize("1000000p"));
    }
    return {DynamicCast<PointToPointNetDevice>(ends.Get(0)),
            DynamicCast<PointToPointNetDevice>(ends.Get(1)),
            interfaces.GetAddress(1)};
}

// Loses this share of the packets that arrive at `receiver`, and counts them if they are `data`.
Ptr<RateErrorModel>
LoseAtRandom(Ptr<PointToPointNetDevice> receiver, double share, bool data)
{
    auto model = CreateObject<RateErrorModel>();
    model->SetUnit(RateErrorModel::ERROR_UNIT_PACKET);
    model->SetRate(share);
    receiver->SetReceiveErrorModel(model);
    if (data)
    {
        receiver->TraceConnectWithoutContext(
            "PhyRxDrop", Callback<void, Ptr<const Packet>>([](Ptr<const Packet>) {
                g_lost += g_measuring;
            }));
    }
    return model;
}

// A line fails for `outage` at each multiple of `every`: packets on it or sent to it are lost.
void
LosePeriodically(Ptr<PointToPointNetDevice> receiver, bool data)
{
    auto model = LoseAtRandom(receiver, 1, data);
    model->Disable();
    for (Time at = Span("every"); at < Span("duration"); at += Span("every"))
    {
        Simulator::Schedule(at, &ErrorModel::Enable, model);
        Simulator::Schedule(at + Span("outage") + Span("leg"), &ErrorModel::Disable, model);
    }
}

void
InstallAqm(Ptr<PointToPointNetDevice> port)
{
    // The disc holds the queue, and the device one packet more.
    port->GetQueue()->SetMaxSize(QueueSize("1p"));
    static const std::map<std::string, std::string> types{
        {"fifo", "ns3::FifoQueueDisc"},
        {"codel", "ns3::CoDelQueueDisc"},
        {"pie", "ns3::PieQueueDisc"}};
    TrafficControlHelper helper;
    helper.SetRootQueueDisc(types.at(Text("aqm")), "MaxSize", StringValue(Text("buffer") + "p"));
    Ptr<QueueDisc> disc = helper.Install(port).Get(0);
    disc->TraceConnectWithoutContext(
        "PacketsInQueue", Callback<void, uint32_t, uint32_t>([](uint32_t was, uint32_t is) {
            g_waiting.Change(static_cast<int>(is) - static_cast<int>(was));
        }));
    port->GetQueue()->TraceConnectWithoutContext(
        "PacketsInQueue", Callback<void, uint32_t, uint32_t>([](uint32_t was, uint32_t is) {
            g_waiting.Change(static_cast<int>(is) - static_cast<int>(was));
        }));
    auto drop = Callback<void, Ptr<const QueueDiscItem>, const char*>(
        [](Ptr<const QueueDiscItem>, const char* reason) {
            bool full = std::string(reason).find("limit") != std::string::npos;
            (full ? g_bufferDrops : g_aqmDrops) += g_measuring;
        });
    disc->TraceConnectWithoutContext("DropBeforeEnqueue", drop);
    disc->TraceConnectWithoutContext("DropAfterDequeue", drop);
}

void
Run()
{
    Time::SetResolution(Time::PS);
    Defaults();
    NodeContainer routers(2);
    NodeContainer senders(Number("flows"));
    NodeContainer receivers(Number("flows"));
    InternetStackHelper stack;
    stack.SetIpv6StackInstall(false);
    stack.InstallAll();
    Line core = Connect(routers.Get(0), routers.Get(1), Number("rate"));
    InstallAqm(core.a);
    if (double loss = std::stod(Text("loss")))
    {
        LoseAtRandom(core.b, loss, true);
    }
    auto start = CreateObject<UniformRandomVariable>();
    for (uint32_t i = 0; i < senders.GetN(); ++i)
    {
        Line first = Connect(senders.Get(i), routers.Get(0), Number("edge"));
        Line last = Connect(routers.Get(1), receivers.Get(i), Number("edge"));
        if (Number("every") > 0)
        {
            LosePeriodically(first.b, true);
            LosePeriodically(first.a, false);
        }
        Listen(receivers.Get(i));
        Simulator::Schedule(NanoSeconds(start->GetInteger(0, Number("jitter"))),
                            &Open, senders.Get(i), last.addressB);
    }
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();
    Simulator::Schedule(Span("warmup"), [] {
        g_waiting.Change(0);
        g_measuring = true;
    });
    Simulator::Stop(Span("duration"));
    Simulator::Run();
    g_waiting.Change(0);

    double seconds = (Span("duration") - Span("warmup")).GetSeconds();
    std::printf("{\"aqm_drops\": %llu, \"buffer_drops\": %llu, \"lost\": %llu, \"queue\": %.3f, "
                "\"goodput\": %.3f, \"fast\": %llu, \"timeouts\": %llu, \"undone\": 0}\n",
                static_cast<unsigned long long>(g_aqmDrops),
                static_cast<unsigned long long>(g_bufferDrops),
                static_cast<unsigned long long>(g_lost), g_waiting.area / seconds,
                g_received * 8 / seconds / 1e6, static_cast<unsigned long long>(g_recoveries),
                static_cast<unsigned long long>(g_timeouts));
}

} // namespace

int
main(int argc, char** argv)
{
    try
    {
        for (int i = 1; i < argc; ++i)
        {
            std::string argument = argv[i];
            size_t equals = argument.find('=');
            if (equals == std::string::npos || !g_options.count(argument.substr(0, equals)))
            {
                throw std::runtime_error("bad argument " + argument);
            }
            g_options[argument.substr(0, equals)] = argument.substr(equals + 1);
        }
        Run();
        std::fflush(stdout);
        std::_Exit(0); // destroying the network would only cost time
    }
    catch (const std::exception& e)
    {
        std::cerr << "dumbbell: " << e.what() << "\n";
        return 1;
    }
}
