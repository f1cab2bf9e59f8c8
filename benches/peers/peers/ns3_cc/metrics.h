// Counters, and averages of queues.

#pragma once

#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

#include <algorithm>
#include <cstdint>

namespace peer
{

using namespace ns3;

inline uint64_t g_hops = 0;        // packets fully serialised by one output queue
inline uint64_t g_deviceDrops = 0; // lost between disc and link: must stay zero
inline uint64_t g_rtos = 0;

inline void
CountHop(Ptr<const Packet>)
{
    ++g_hops;
}

inline void
CountDeviceDrop(Ptr<const Packet>)
{
    ++g_deviceDrops;
}

inline void
CountTimeout(TcpSocketState::TcpCongState_t, TcpSocketState::TcpCongState_t now)
{
    g_rtos += now == TcpSocketState::CA_LOSS;
}

// Packets that wait at one port, in disc and device, without the one in transmission; averaged over
// time after the warm-up.
class QueueMonitor
{
  public:
    explicit QueueMonitor(int64_t from)
        : m_from(from),
          m_last(from)
    {
    }

    void Watch(Ptr<QueueDisc> disc, Ptr<PointToPointNetDevice> device)
    {
        auto change = MakeCallback(&QueueMonitor::Change, this);
        disc->TraceConnectWithoutContext("PacketsInQueue", change);
        device->GetQueue()->TraceConnectWithoutContext("PacketsInQueue", change);
    }

    double Mean(int64_t until)
    {
        Advance(until);
        return until > m_from ? m_area / static_cast<double>(until - m_from) : 0;
    }

    int64_t Max() const
    {
        return m_max;
    }

  private:
    void Change(uint32_t before, uint32_t now)
    {
        Advance(Simulator::Now().GetPicoSeconds());
        m_packets += static_cast<int64_t>(now) - static_cast<int64_t>(before);
    }

    void Advance(int64_t now)
    {
        if (now > m_last)
        {
            m_area += static_cast<double>(m_packets) * static_cast<double>(now - m_last);
            m_max = std::max(m_max, m_packets);
            m_last = now;
        }
    }

    int64_t m_from;
    int64_t m_last;
    int64_t m_packets = 0;
    int64_t m_max = 0;
    double m_area = 0;
};

} // namespace peer
