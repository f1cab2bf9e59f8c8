// One run of ns-3: point-to-point links, switches with DCTCP marking, unlimited or sized TCP
// transfers. The argument is the file of job.h; the output is one line of JSON.

#include "flow.h"
#include "job.h"
#include "network.h"

#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

using namespace ns3;
using namespace peer;

namespace
{

void
Defaults(const Job& job)
{
    auto time = [&](const char* name) { return TimeValue(PicoSeconds(job.Whole(name))); };
    auto count = [&](const char* name) { return UintegerValue(job.Whole(name)); };
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", StringValue("ns3::TcpDctcp"));
    Config::SetDefault("ns3::TcpSocketBase::MinRto", time("rto_min_ps"));
    Config::SetDefault("ns3::TcpSocketBase::ClockGranularity", time("rto_granularity_ps"));
    Config::SetDefault("ns3::TcpSocket::ConnTimeout", time("rto_initial_ps"));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", count("mss_bytes"));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", count("initial_window"));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", count("delack_segments"));
    Config::SetDefault("ns3::TcpSocket::DelAckTimeout", time("delack_timer_ps"));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", count("send_buffer_bytes"));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", count("receive_buffer_bytes"));
    // A step at K of the instantaneous queue: no average, no ramp, marks instead of drops.
    Config::SetDefault("ns3::RedQueueDisc::UseEcn", BooleanValue(true));
    Config::SetDefault("ns3::RedQueueDisc::UseHardDrop", BooleanValue(false));
    Config::SetDefault("ns3::RedQueueDisc::Gentle", BooleanValue(false));
    Config::SetDefault("ns3::RedQueueDisc::QW", DoubleValue(1.0));
}

double
Percentile(std::vector<double> sorted, double share)
{
    size_t index = static_cast<size_t>(share * static_cast<double>(sorted.size()));
    return sorted.empty() ? -1 : sorted[std::min(index, sorted.size() - 1)];
}

void
Run(const Job& job)
{
    Time::SetResolution(Time::PS);
    Defaults(job);
    Network network(job);
    for (const auto& host : job.hosts)
    {
        Listen(network.At(host));
    }
    std::vector<std::unique_ptr<Flow>> flows;
    for (const auto& spec : job.flows)
    {
        flows.push_back(std::make_unique<Flow>(network.At(spec.from),
                                               network.AddressOf(spec.from),
                                               network.AddressOf(spec.to),
                                               spec));
        Flow::s_unfinished += !flows.back()->Endless();
    }

    // Goodput, marks and drops exclude the warm-up; hops include it.
    int64_t warmup = job.Whole("warmup_ps");
    uint64_t before = 0;
    std::pair<uint64_t, uint64_t> countsBefore;
    if (warmup > 0)
    {
        Simulator::Schedule(PicoSeconds(warmup), [&] {
            for (const auto& flow : flows)
            {
                before += flow->Delivered();
            }
            countsBefore = network.MarksAndDrops();
        });
    }
    Simulator::Stop(PicoSeconds(job.Whole("duration_ps")));
    Simulator::Run();

    int64_t end = Simulator::Now().GetPicoSeconds();
    uint64_t delivered = 0;
    int64_t first = end;
    std::vector<double> times;
    uint32_t unfinished = 0;
    for (const auto& flow : flows)
    {
        delivered += flow->Delivered();
        first = std::min(first, flow->Start());
        if (flow->End() >= 0)
        {
            times.push_back(static_cast<double>(flow->End() - flow->Start()) / 1e9);
        }
        unfinished += !flow->Endless() && flow->End() < 0;
    }
    std::sort(times.begin(), times.end());
    double sum = 0;
    for (double time : times)
    {
        sum += time;
    }
    double seconds = static_cast<double>(end - std::max(first, warmup)) / 1e12;
    auto [marks, drops] = network.MarksAndDrops();
    std::printf("{\"simulated_s\": %.12g, \"hops\": %llu, \"events\": %llu, \"goodput_gbps\": %.9g, "
                "\"mean_queue_packets\": %.9g, \"max_queue_packets\": %lld, \"marks\": %llu, "
                "\"drops\": %llu, \"rtos\": %llu, \"unfinished\": %u",
                static_cast<double>(end) / 1e12,
                static_cast<unsigned long long>(g_hops),
                static_cast<unsigned long long>(Simulator::GetEventCount()),
                static_cast<double>(delivered - before) * 8 / seconds / 1e9,
                network.MeanQueue(end),
                static_cast<long long>(network.MaxQueue()),
                static_cast<unsigned long long>(marks - countsBefore.first),
                static_cast<unsigned long long>(drops - countsBefore.second + g_deviceDrops),
                static_cast<unsigned long long>(g_rtos),
                unfinished);
    if (!times.empty())
    {
        std::printf(", \"fct_mean_ms\": %.9g, \"fct_p99_ms\": %.9g",
                    sum / static_cast<double>(times.size()),
                    Percentile(times, 0.99));
    }
    std::printf("}\n");
}

} // namespace

int
main(int argc, char** argv)
{
    try
    {
        if (argc != 2)
        {
            throw std::runtime_error("one argument is needed: the job file");
        }
        Run(ReadJob(argv[1]));
        std::fflush(stdout);
        std::_Exit(0); // destroying the network would only cost time
    }
    catch (const std::exception& e)
    {
        std::cerr << "ns3_cc: " << e.what() << "\n";
        return 1;
    }
}
