// Network and flows to simulate: a file that peers/ns3.py writes.
//
//     set NAME VALUE                             every name that is read with `Whole` is needed
//     host NAME                                  an end host with TCP; others are switches
//     link A B BITS_PER_S DELAY_PS               both directions
//     watch A B                                  average the queue of A's port towards B
//     flow SOURCE DESTINATION BYTES START_PS     BYTES = 0: unlimited

#pragma once

#include <cstdint>
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace peer
{

struct LinkSpec
{
    std::string a;
    std::string b;
    uint64_t rate;
    int64_t delay;
};

struct FlowSpec
{
    std::string from;
    std::string to;
    uint64_t bytes;
    int64_t start;
};

struct Job
{
    std::map<std::string, std::string> settings;
    std::vector<std::string> hosts;
    std::vector<LinkSpec> links;
    std::vector<std::pair<std::string, std::string>> watched;
    std::vector<FlowSpec> flows;

    int64_t Whole(const std::string& name) const
    {
        auto it = settings.find(name);
        if (it == settings.end())
        {
            throw std::runtime_error("missing setting '" + name + "'");
        }
        return std::stoll(it->second);
    }
};

inline Job
ReadJob(const char* path)
{
    std::ifstream file(path);
    if (!file)
    {
        throw std::runtime_error(std::string("cannot read ") + path);
    }
    Job job;
    std::string line;
    for (int number = 1; std::getline(file, line); ++number)
    {
        std::istringstream in(line);
        std::string keyword;
        std::string a;
        std::string b;
        in >> keyword >> a;
        if (keyword == "set" && in >> b)
        {
            job.settings[a] = b;
        }
        else if (keyword == "host")
        {
            job.hosts.push_back(a);
        }
        else if (keyword == "link")
        {
            LinkSpec link{a, "", 0, 0};
            in >> link.b >> link.rate >> link.delay;
            job.links.push_back(link);
        }
        else if (keyword == "watch" && in >> b)
        {
            job.watched.emplace_back(a, b);
        }
        else if (keyword == "flow")
        {
            FlowSpec flow{a, "", 0, 0};
            in >> flow.to >> flow.bytes >> flow.start;
            job.flows.push_back(flow);
        }
        else
        {
            in.setstate(std::ios::failbit);
        }
        if (!in)
        {
            throw std::runtime_error("line " + std::to_string(number) + " is invalid: " + line);
        }
    }
    return job;
}

} // namespace peer
