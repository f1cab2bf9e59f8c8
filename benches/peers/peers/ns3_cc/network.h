// Nodes, links and ports.

#pragma once

#include "job.h"
#include "metrics.h"
#include "routing.h"

#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <queue>
#include <string>
#include <utility>
#include <vector>

namespace peer
{

using namespace ns3;

constexpr int64_t PPP_BYTES = 2; // header that PointToPointNetDevice adds

class Network
{
  public:
    explicit Network(const Job& job)
        : m_job(job)
    {
        for (const auto& name : job.hosts)
        {
            m_host[name] = true;
        }
        for (const auto& link : job.links)
        {
            Node(link.a);
            Node(link.b);
        }
        InternetStackHelper stack;
        stack.SetIpv6StackInstall(false);
        stack.SetRoutingHelper(EcmpRoutingHelper());
        for (const auto& [name, node] : m_nodes)
        {
            stack.Install(node);
        }
        for (const auto& link : job.links)
        {
            Connect(link);
        }
        ComputeRoutes();
        for (const auto& [a, b] : job.watched)
        {
            auto& port = m_ports.at({a, b});
            m_monitors.push_back(std::make_unique<QueueMonitor>(job.Whole("warmup_ps")));
            m_monitors.back()->Watch(port.disc, port.device);
        }
    }

    Ptr<ns3::Node> At(const std::string& name) const
    {
        return m_nodes.at(name);
    }

    Ipv4Address AddressOf(const std::string& host) const
    {
        return m_address.at(host);
    }

    double MeanQueue(int64_t until)
    {
        double sum = 0;
        for (auto& monitor : m_monitors)
        {
            sum += monitor->Mean(until);
        }
        return m_monitors.empty() ? 0 : sum / static_cast<double>(m_monitors.size());
    }

    int64_t MaxQueue() const
    {
        int64_t max = 0;
        for (const auto& monitor : m_monitors)
        {
            max = std::max(max, monitor->Max());
        }
        return max;
    }

    // Marks and drops of all switches so far.
    std::pair<uint64_t, uint64_t> MarksAndDrops() const
    {
        uint64_t marks = 0;
        uint64_t drops = 0;
        for (const auto& [names, port] : m_ports)
        {
            if (port.disc)
            {
                marks += port.disc->GetStats().nTotalMarkedPackets;
                drops += port.disc->GetStats().nTotalDroppedPackets;
            }
        }
        return {marks, drops};
    }

  private:
    struct Port
    {
        Ptr<PointToPointNetDevice> device;
        Ptr<QueueDisc> disc; // switches only
        uint32_t interface;
        Ipv4Address gateway; // the far end
    };

    void Node(const std::string& name)
    {
        if (!m_nodes.count(name))
        {
            m_nodes[name] = CreateObject<ns3::Node>();
        }
    }

    void Connect(const LinkSpec& link)
    {
        PointToPointHelper line;
        line.SetDeviceAttribute("DataRate", DataRateValue(DataRate(link.rate)));
        line.SetChannelAttribute("Delay", TimeValue(PicoSeconds(link.delay)));
        // The gap replaces Ethernet's overhead beyond the header that the device adds.
        int64_t extra = m_job.Whole("framing_bytes") - PPP_BYTES;
        int64_t gap = extra > 0 ? extra * 8 * 1'000'000'000'000 / static_cast<int64_t>(link.rate) : 0;
        line.SetDeviceAttribute("InterframeGap", TimeValue(PicoSeconds(gap)));
        NetDeviceContainer ends = line.Install(m_nodes.at(link.a), m_nodes.at(link.b));
        // The disc must precede the address, or ns-3 installs its default disc.
        Port a = MakePort(ends.Get(0), link.a);
        Port b = MakePort(ends.Get(1), link.b);
        Ipv4AddressHelper addresses(Ipv4Address(10u << 24 | m_subnet++ << 2), "255.255.255.252");
        Ipv4InterfaceContainer interfaces = addresses.Assign(ends);
        Finish(a, link.a, interfaces, 0);
        Finish(b, link.b, interfaces, 1);
        m_ports[{link.a, link.b}] = a;
        m_ports[{link.b, link.a}] = b;
    }

    Port MakePort(Ptr<NetDevice> end, const std::string& name)
    {
        Port port;
        port.device = DynamicCast<PointToPointNetDevice>(end);
        // At a switch one packet waits in the device, the others in the disc, which the device wakes
        // when it has room. A host's packets wait in the device.
        port.device->GetQueue()->SetMaxSize(QueueSize(m_host.count(name) ? "1000000p" : "1p"));
        port.device->GetQueue()->TraceConnectWithoutContext("Drop", MakeCallback(&CountDeviceDrop));
        port.device->TraceConnectWithoutContext("PhyTxEnd", MakeCallback(&CountHop));
        if (!m_host.count(name))
        {
            double k = static_cast<double>(m_job.Whole("k_packets"));
            TrafficControlHelper control;
            control.SetRootQueueDisc(
                "ns3::RedQueueDisc",
                "MinTh",
                DoubleValue(k),
                "MaxTh",
                DoubleValue(k),
                "MaxSize",
                StringValue(std::to_string(m_job.Whole("buffer_packets")) + "p"));
            port.disc = control.Install(end).Get(0);
        }
        return port;
    }

    void Finish(Port& port,
                const std::string& name,
                const Ipv4InterfaceContainer& interfaces,
                uint32_t side)
    {
        port.interface = interfaces.Get(side).second;
        port.gateway = interfaces.GetAddress(1 - side);
        if (m_host.count(name))
        {
            TrafficControlHelper().Uninstall(port.device);
            m_address[name] = interfaces.GetAddress(side);
        }
    }

    // Breadth-first search from every host: each neighbour that is one hop closer is a next hop.
    void ComputeRoutes()
    {
        std::map<std::string, std::vector<std::string>> neighbours;
        for (const auto& [names, port] : m_ports)
        {
            neighbours[names.first].push_back(names.second);
        }
        for (const auto& [host, address] : m_address)
        {
            std::map<std::string, int> far{{host, 0}};
            std::queue<std::string> open;
            open.push(host);
            while (!open.empty())
            {
                std::string at = open.front();
                open.pop();
                for (const auto& next : neighbours[at])
                {
                    if (far.emplace(next, far[at] + 1).second)
                    {
                        open.push(next);
                    }
                    if (far[next] == far[at] + 1)
                    {
                        AddRoute(next, at, address);
                    }
                }
            }
        }
    }

    void AddRoute(const std::string& from, const std::string& to, Ipv4Address host)
    {
        const Port& port = m_ports.at({from, to});
        auto ipv4 = m_nodes.at(from)->GetObject<Ipv4>();
        auto route = Create<Ipv4Route>();
        route->SetOutputDevice(port.device);
        route->SetSource(ipv4->GetAddress(port.interface, 0).GetLocal());
        route->SetDestination(host);
        route->SetGateway(port.gateway);
        DynamicCast<EcmpRouting>(ipv4->GetRoutingProtocol())->Add(host.Get(), route);
    }

    const Job& m_job;
    std::map<std::string, bool> m_host;
    std::map<std::string, Ptr<ns3::Node>> m_nodes;
    std::map<std::string, Ipv4Address> m_address;
    std::map<std::pair<std::string, std::string>, Port> m_ports;
    std::vector<std::unique_ptr<QueueMonitor>> m_monitors;
    uint32_t m_subnet = 0;
};

} // namespace peer
