// TCP connections over sender - switch0 - switch1 - receiver in ns-3.
//   ns3_run KEY=VALUE ...
// One event per line on stdout, times in picoseconds; compare.py reads them:
//   D time flow seq len flags ecn   a segment leaves the sender's TCP (seq without the SYN)
//   A time flow ack flags ecn       a segment leaves the receiver's TCP
//   W time flow cwnd                cwnd in bytes;  S the same for ssthresh
//   P time flow alpha               DCTCP's estimate
//   E time uid flow / B time uid    a packet enters switch0's port, begins its transmission there
//   M time flow                     a packet is marked;  X time: dropped at the port

#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <list>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>

using namespace ns3;

namespace
{

std::map<std::string, std::string> g_options{
    {"cc", "TcpDctcp"},    {"seconds", "10"},      {"flows", "1"},       {"bytes", "146000"},
    {"access", "1Gbps"},   {"rate", "100Mbps"},    {"delay", "50ms"},    {"accessdelay", "0ms"},
    {"buffer", "1000"},    {"k", "0"},             {"drops", ""},        {"spacing", "0s"},
    {"segment", "0"},      {"delack", "0"},        {"sndbuf", "0"},      {"rcvbuf", "0"},
    {"minrto", ""},        {"initialwindow", "0"}, {"ecn", ""},          {"recovery", ""}};

constexpr uint16_t PORT = 5001;

std::string
Option(const std::string& key)
{
    return g_options.at(key);
}

long long
Now()
{
    return Simulator::Now().GetPicoSeconds();
}

// IP and TCP headers of `packet`, which begins with an IP header; false for other protocols.
bool
Headers(Ptr<const Packet> packet, Ipv4Header& ip, TcpHeader& tcp)
{
    Ptr<Packet> copy = packet->Copy();
    copy->RemoveHeader(ip);
    if (ip.GetProtocol() != 6)
    {
        return false;
    }
    copy->RemoveHeader(tcp);
    return true;
}

void
Sent(bool sender, Ptr<const Packet> packet, Ptr<Ipv4>, uint32_t)
{
    Ipv4Header ip;
    TcpHeader tcp;
    if (!Headers(packet, ip, tcp))
    {
        return;
    }
    uint32_t length = ip.GetPayloadSize() - tcp.GetSerializedSize();
    int flow = (sender ? tcp.GetSourcePort() : tcp.GetDestinationPort()) - 10000;
    if (sender)
    {
        std::printf("D %lld %d %lld %u %u %d\n", Now(), flow,
                    static_cast<long long>(tcp.GetSequenceNumber().GetValue()) - 1, length,
                    unsigned{tcp.GetFlags()}, int{ip.GetEcn()});
    }
    else
    {
        std::printf("A %lld %d %lld %u %d\n", Now(), flow,
                    static_cast<long long>(tcp.GetAckNumber().GetValue()) - 1,
                    unsigned{tcp.GetFlags()}, int{ip.GetEcn()});
    }
}

int
FlowOf(Ptr<const QueueDiscItem> item)
{
    TcpHeader tcp;
    item->GetPacket()->PeekHeader(tcp);
    return tcp.GetSourcePort() - 10000;
}

class Sender
{
  public:
    Sender(Ptr<Node> node, Ipv4Address to, int flow)
        : m_flow(flow),
          m_left(std::stoull(Option("bytes")))
    {
        m_socket = Socket::CreateSocket(node, TcpSocketFactory::GetTypeId());
        m_socket->Bind(InetSocketAddress(Ipv4Address::GetAny(), 10000 + flow));
        m_socket->SetSendCallback(MakeCallback(&Sender::Room, this));
        m_socket->SetConnectCallback(MakeCallback(&Sender::Connected, this),
                                     MakeNullCallback<void, Ptr<Socket>>());
        m_socket->TraceConnectWithoutContext("CongestionWindow",
                                             MakeCallback(&Sender::Window, this));
        m_socket->TraceConnectWithoutContext("SlowStartThreshold",
                                             MakeCallback(&Sender::Threshold, this));
        m_socket->Connect(InetSocketAddress(to, PORT));
    }

  private:
    void Window(uint32_t, uint32_t now)
    {
        std::printf("W %lld %d %u\n", Now(), m_flow, now);
    }

    void Threshold(uint32_t, uint32_t now)
    {
        std::printf("S %lld %d %u\n", Now(), m_flow, now);
    }

    void Alpha(uint32_t, uint32_t, double alpha)
    {
        std::printf("P %lld %d %.9f\n", Now(), m_flow, alpha);
    }

    void Connected(Ptr<Socket>)
    {
        PointerValue control;
        m_socket->GetAttribute("CongestionOps", control);
        if (control.GetObject() && Option("cc") == "TcpDctcp")
        {
            control.GetObject()->TraceConnectWithoutContext("CongestionEstimate",
                                                            MakeCallback(&Sender::Alpha, this));
        }
        Write();
    }

    void Room(Ptr<Socket>, uint32_t)
    {
        Write();
    }

    void Write()
    {
        while (m_left > 0)
        {
            uint64_t size = std::min<uint64_t>({m_left, m_socket->GetTxAvailable(), 1 << 18});
            if (size == 0 || m_socket->Send(Create<Packet>(static_cast<uint32_t>(size))) <= 0)
            {
                return;
            }
            m_left -= size;
        }
    }

    int m_flow;
    uint64_t m_left;
    Ptr<Socket> m_socket;
};

void
Read(Ptr<Socket> socket)
{
    while (Ptr<Packet> packet = socket->Recv())
    {
        if (packet->GetSize() == 0)
        {
            break;
        }
    }
}

void
Accepted(Ptr<Socket> socket, const Address&)
{
    socket->SetRecvCallback(MakeCallback(&Read));
}

void
Defaults()
{
    auto set = [](const char* name, const std::string& value, auto make) {
        if (!value.empty() && value != "0")
        {
            Config::SetDefault(name, make(value));
        }
    };
    auto count = [](const std::string& value) { return UintegerValue(std::stoull(value)); };
    auto text = [](const std::string& value) { return StringValue(value); };
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", StringValue("ns3::" + Option("cc")));
    set("ns3::TcpSocket::SegmentSize", Option("segment"), count);
    set("ns3::TcpSocket::DelAckCount", Option("delack"), count);
    set("ns3::TcpSocket::SndBufSize", Option("sndbuf"), count);
    set("ns3::TcpSocket::RcvBufSize", Option("rcvbuf"), count);
    set("ns3::TcpSocket::InitialCwnd", Option("initialwindow"), count);
    set("ns3::TcpSocketBase::MinRto", Option("minrto"), text);
    set("ns3::TcpSocketBase::UseEcn", Option("ecn"), text);
    if (!Option("recovery").empty())
    {
        Config::SetDefault("ns3::TcpL4Protocol::RecoveryType",
                           StringValue("ns3::" + Option("recovery")));
    }
    Config::SetDefault("ns3::RedQueueDisc::UseEcn", BooleanValue(true));
    Config::SetDefault("ns3::RedQueueDisc::UseHardDrop", BooleanValue(false));
    Config::SetDefault("ns3::RedQueueDisc::Gentle", BooleanValue(false));
    Config::SetDefault("ns3::RedQueueDisc::QW", DoubleValue(1.0));
}

NetDeviceContainer
Link(Ptr<Node> a, Ptr<Node> b, const std::string& rate, const std::string& delay)
{
    PointToPointHelper line;
    line.SetDeviceAttribute("DataRate", StringValue(rate));
    line.SetChannelAttribute("Delay", StringValue(delay));
    NetDeviceContainer ends = line.Install(a, b);
    for (uint32_t i = 0; i < 2; ++i)
    {
        DynamicCast<PointToPointNetDevice>(ends.Get(i))->GetQueue()->SetMaxSize(
            QueueSize("1000000p"));
    }
    return ends;
}

void
Run()
{
    Time::SetResolution(Time::PS);
    Defaults();
    NodeContainer nodes(4);
    InternetStackHelper stack;
    stack.SetIpv6StackInstall(false);
    stack.Install(nodes);
    NetDeviceContainer links[3] = {
        Link(nodes.Get(0), nodes.Get(1), Option("access"), Option("accessdelay")),
        Link(nodes.Get(1), nodes.Get(2), Option("rate"), Option("delay")),
        Link(nodes.Get(2), nodes.Get(3), Option("access"), Option("accessdelay"))};

    // switch0's port: the disc holds the queue, and the device one packet more.
    auto port = DynamicCast<PointToPointNetDevice>(links[1].Get(0));
    port->GetQueue()->SetMaxSize(QueueSize("1p"));
    TrafficControlHelper control;
    double k = std::stod(Option("k"));
    if (k > 0)
    {
        control.SetRootQueueDisc("ns3::RedQueueDisc", "MinTh", DoubleValue(k), "MaxTh",
                                 DoubleValue(k), "MaxSize", StringValue(Option("buffer") + "p"));
    }
    else
    {
        control.SetRootQueueDisc("ns3::FifoQueueDisc", "MaxSize",
                                 StringValue(Option("buffer") + "p"));
    }
    Ptr<QueueDisc> disc = control.Install(links[1].Get(0)).Get(0);
    Ipv4Address receiver;
    for (int i = 0; i < 3; ++i)
    {
        Ipv4AddressHelper addresses(Ipv4Address(10u << 24 | (i + 1) << 8), "255.255.255.0");
        receiver = addresses.Assign(links[i]).GetAddress(1);
        for (int end = 0; end < 2; ++end)
        {
            if (i != 1 || end != 0)
            {
                TrafficControlHelper().Uninstall(links[i].Get(end));
            }
        }
    }
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();

    // Packets lost behind the receiver's line, by their number on it from 0.
    if (!Option("drops").empty())
    {
        std::list<uint32_t> list;
        std::istringstream numbers(Option("drops"));
        for (uint32_t number; numbers >> number;)
        {
            list.push_back(number);
        }
        auto loss = CreateObject<ReceiveListErrorModel>();
        loss->SetList(list);
        DynamicCast<PointToPointNetDevice>(links[2].Get(1))->SetReceiveErrorModel(loss);
    }

    nodes.Get(0)->GetObject<Ipv4L3Protocol>()->TraceConnectWithoutContext(
        "Tx", MakeBoundCallback(&Sent, true));
    nodes.Get(3)->GetObject<Ipv4L3Protocol>()->TraceConnectWithoutContext(
        "Tx", MakeBoundCallback(&Sent, false));
    disc->TraceConnectWithoutContext("Enqueue",
                                     Callback<void, Ptr<const QueueDiscItem>>([](auto item) {
                                         std::printf("E %lld %llu %d\n", Now(),
                                                     static_cast<unsigned long long>(
                                                         item->GetPacket()->GetUid()),
                                                     FlowOf(item));
                                     }));
    disc->TraceConnectWithoutContext(
        "Mark", Callback<void, Ptr<const QueueDiscItem>, const char*>([](auto item, const char*) {
            std::printf("M %lld %d\n", Now(), FlowOf(item));
        }));
    disc->TraceConnectWithoutContext("Drop", Callback<void, Ptr<const QueueDiscItem>>([](auto) {
                                         std::printf("X %lld\n", Now());
                                     }));
    port->TraceConnectWithoutContext("PhyTxBegin",
                                     Callback<void, Ptr<const Packet>>([](auto packet) {
                                         std::printf("B %lld %llu\n", Now(),
                                                     static_cast<unsigned long long>(
                                                         packet->GetUid()));
                                     }));

    auto listener = Socket::CreateSocket(nodes.Get(3), TcpSocketFactory::GetTypeId());
    listener->Bind(InetSocketAddress(Ipv4Address::GetAny(), PORT));
    listener->Listen();
    listener->SetAcceptCallback(MakeNullCallback<bool, Ptr<Socket>, const Address&>(),
                                MakeCallback(&Accepted));
    for (int flow = 0; flow < std::stoi(Option("flows")); ++flow)
    {
        Simulator::Schedule(Time(Option("spacing")) * flow,
                            [=] { new Sender(nodes.Get(0), receiver, flow); });
    }
    Simulator::Stop(Seconds(std::stod(Option("seconds"))));
    Simulator::Run();
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
        std::cerr << "ns3_run: " << e.what() << "\n";
        return 1;
    }
}
