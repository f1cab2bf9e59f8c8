// The applications: a client writes and closes, its server reads.

#pragma once

#include "job.h"
#include "metrics.h"

#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"

#include <algorithm>
#include <cstdint>
#include <unordered_map>

namespace peer
{

using namespace ns3;

constexpr uint16_t PORT = 5001;
constexpr uint32_t WRITE = 1 << 18; // bytes of one write; the socket's buffer limits it

class Flow
{
  public:
    Flow(Ptr<Node> from, Ipv4Address own, Ipv4Address to, const FlowSpec& spec)
        : m_from(from),
          m_own(own),
          m_to(to),
          m_bytes(spec.bytes),
          m_start(spec.start)
    {
        Simulator::Schedule(PicoSeconds(spec.start), &Flow::Open, this);
    }

    uint64_t Delivered() const
    {
        return m_delivered;
    }

    int64_t Start() const
    {
        return m_start;
    }

    int64_t End() const
    {
        return m_end;
    }

    bool Endless() const
    {
        return m_bytes == 0;
    }

    // Returns the flow of a server's new connection.
    static Flow* From(const Address& client)
    {
        return s_byClient.at(Key(InetSocketAddress::ConvertFrom(client)));
    }

    void Accept(Ptr<Socket> socket)
    {
        socket->SetRecvCallback(MakeCallback(&Flow::Read, this));
        auto close = Callback<void, Ptr<Socket>>([](Ptr<Socket> s) { s->Close(); });
        socket->SetCloseCallbacks(close, close);
    }

    inline static uint32_t s_unfinished = 0; // flows with a size

  private:
    static uint64_t Key(const InetSocketAddress& address)
    {
        return uint64_t{address.GetIpv4().Get()} << 16 | address.GetPort();
    }

    void Open()
    {
        m_socket = Socket::CreateSocket(m_from, TcpSocketFactory::GetTypeId());
        m_socket->TraceConnectWithoutContext("CongState", MakeCallback(&CountTimeout));
        m_socket->Bind();
        Address bound;
        m_socket->GetSockName(bound);
        s_byClient[Key({m_own, InetSocketAddress::ConvertFrom(bound).GetPort()})] = this;
        m_socket->SetConnectCallback(MakeCallback(&Flow::Connected, this),
                                     MakeNullCallback<void, Ptr<Socket>>());
        m_socket->SetSendCallback(MakeCallback(&Flow::Room, this));
        m_socket->Connect(InetSocketAddress(m_to, PORT));
    }

    void Connected(Ptr<Socket>)
    {
        Write();
    }

    void Room(Ptr<Socket>, uint32_t)
    {
        Write();
    }

    void Write()
    {
        while (Endless() || m_written < m_bytes)
        {
            uint64_t left = Endless() ? WRITE : m_bytes - m_written;
            uint64_t now = std::min<uint64_t>({left, m_socket->GetTxAvailable(), WRITE});
            if (now == 0 || m_socket->Send(Create<Packet>(static_cast<uint32_t>(now))) <= 0)
            {
                return;
            }
            m_written += now;
        }
        if (!m_closed)
        {
            m_closed = true;
            m_socket->Close();
        }
    }

    void Read(Ptr<Socket> socket)
    {
        while (Ptr<Packet> packet = socket->Recv())
        {
            if (packet->GetSize() == 0)
            {
                break;
            }
            m_delivered += packet->GetSize();
        }
        if (!Endless() && m_end < 0 && m_delivered >= m_bytes)
        {
            m_end = Simulator::Now().GetPicoSeconds();
            if (--s_unfinished == 0)
            {
                Simulator::Stop();
            }
        }
    }

    inline static std::unordered_map<uint64_t, Flow*> s_byClient; // by address and port

    Ptr<Node> m_from;
    Ipv4Address m_own;
    Ipv4Address m_to;
    uint64_t m_bytes;
    int64_t m_start;
    int64_t m_end = -1;
    uint64_t m_written = 0;
    uint64_t m_delivered = 0;
    bool m_closed = false;
    Ptr<Socket> m_socket;
};

inline void
Accepted(Ptr<Socket> socket, const Address& client)
{
    Flow::From(client)->Accept(socket);
}

inline void
Listen(Ptr<Node> node)
{
    auto socket = Socket::CreateSocket(node, TcpSocketFactory::GetTypeId());
    socket->Bind(InetSocketAddress(Ipv4Address::GetAny(), PORT));
    socket->Listen();
    socket->SetAcceptCallback(MakeNullCallback<bool, Ptr<Socket>, const Address&>(),
                              MakeCallback(&Accepted));
}

} // namespace peer
