// Routing.

#pragma once

#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"

#include <cstdint>
#include <unordered_map>
#include <vector>

namespace peer
{

using namespace ns3;

// ECMP over all shortest paths, by five-tuple hash with a salt per switch. ns-3's global routing
// has one path, or a random one for each packet, and searches its table linearly for every packet.
class EcmpRouting : public Ipv4RoutingProtocol
{
  public:
    static TypeId GetTypeId()
    {
        static TypeId tid = TypeId("lowtide::EcmpRouting").SetParent<Ipv4RoutingProtocol>();
        return tid;
    }

    void Add(uint32_t host, Ptr<Ipv4Route> route)
    {
        m_to[host].push_back(route);
    }

    void Salt(uint64_t salt)
    {
        m_salt = salt;
    }

    Ptr<Ipv4Route> RouteOutput(Ptr<Packet> packet,
                               const Ipv4Header& header,
                               Ptr<NetDevice>,
                               Socket::SocketErrno& error) override
    {
        auto route = Choose(packet, header);
        error = route ? Socket::ERROR_NOTERROR : Socket::ERROR_NOROUTETOHOST;
        return route;
    }

    bool RouteInput(Ptr<const Packet> packet,
                    const Ipv4Header& header,
                    Ptr<const NetDevice> device,
                    const UnicastForwardCallback& forward,
                    const MulticastForwardCallback&,
                    const LocalDeliverCallback& deliver,
                    const ErrorCallback&) override
    {
        uint32_t interface = m_ipv4->GetInterfaceForDevice(device);
        if (m_ipv4->IsDestinationAddress(header.GetDestination(), interface))
        {
            deliver(packet, header, interface);
            return true;
        }
        auto route = Choose(packet, header);
        if (route)
        {
            forward(route, packet, header);
        }
        return static_cast<bool>(route);
    }

    void SetIpv4(Ptr<Ipv4> ipv4) override
    {
        m_ipv4 = ipv4;
    }

    void NotifyInterfaceUp(uint32_t) override {}

    void NotifyInterfaceDown(uint32_t) override {}

    void NotifyAddAddress(uint32_t, Ipv4InterfaceAddress) override {}

    void NotifyRemoveAddress(uint32_t, Ipv4InterfaceAddress) override {}

    void PrintRoutingTable(Ptr<OutputStreamWrapper>, Time::Unit) const override {}

  private:
    Ptr<Ipv4Route> Choose(Ptr<const Packet> packet, const Ipv4Header& header) const
    {
        auto it = m_to.find(header.GetDestination().Get());
        if (it == m_to.end())
        {
            return nullptr;
        }
        const auto& routes = it->second;
        if (routes.size() == 1)
        {
            return routes.front();
        }
        uint8_t ports[4] = {};
        if (packet)
        {
            packet->CopyData(ports, sizeof ports); // the first bytes of the TCP header
        }
        uint64_t hash = m_salt;
        hash = Mix(hash ^ header.GetSource().Get());
        hash = Mix(hash ^ header.GetDestination().Get());
        hash = Mix(hash ^ (uint64_t{ports[0]} << 24 | uint64_t{ports[1]} << 16 |
                           uint64_t{ports[2]} << 8 | ports[3]));
        return routes[hash % routes.size()];
    }

    // The finaliser of SplitMix64.
    static uint64_t Mix(uint64_t x)
    {
        x += 0x9E3779B97F4A7C15;
        x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
        x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
        return x ^ (x >> 31);
    }

    Ptr<Ipv4> m_ipv4;
    uint64_t m_salt = 0;
    std::unordered_map<uint32_t, std::vector<Ptr<Ipv4Route>>> m_to; // by the host's address
};

class EcmpRoutingHelper : public Ipv4RoutingHelper
{
  public:
    EcmpRoutingHelper* Copy() const override
    {
        return new EcmpRoutingHelper(*this);
    }

    Ptr<Ipv4RoutingProtocol> Create(Ptr<Node> node) const override
    {
        auto routing = CreateObject<EcmpRouting>();
        routing->Salt(node->GetId());
        return routing;
    }
};

} // namespace peer
