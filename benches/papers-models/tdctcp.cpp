// TDCTCP and DCTCP at one bottleneck, written from the paper only (Das and Sivalingam).
// N senders with links of their own, one queue that marks above K packets, N receivers with delayed
// ACKs. It shares no code with lowtide. `README.md` has the assumptions and the results.
//   g++ -O2 -o tdctcp tdctcp.cpp && ./tdctcp 5 steps
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <queue>
#include <random>
#include <vector>

using Time = long long;                       // nanoseconds
struct Event {
    Time at; long order; int kind, flow, count; bool mark, late;
    bool operator<(const Event& o) const { return at != o.at ? at > o.at : order > o.order; }
};
enum { ARRIVE, DEPART, RECEIVE, ACK, TIMER, START };

struct Setup {
    bool tdctcp; int flows; double k; long segments; double gbps; Time link; unsigned seed;
    double least_timer;                       // TCP_CLOCK_GRANULARITY, seconds
    bool steps;                               // the increase comes once a window, not with each ACK
};
struct Flow {
    double credit = 0, cwnd = 1, ssthresh = 44, alpha = 1;  // INET: 65,535 B of threshold
    long sent = 0, acked = 0, window_end = 0, seen = 0, marked = 0, rwnd = 44;
    Time line_free = 0, done = 0;
    // Receiver.
    bool ce = false; int waiting = 0; long timer = 0, received = 0; Time first = -1;
    double waited = 0; Time waits_since = 0;
};
struct Result { double gbps, jain, queue, wait_least, wait_most; };

Result run(const Setup& s) {
    const Time tx = std::llround(1500 * 8 / s.gbps), ack_tx = std::llround(40 * 8 / s.gbps);
    std::mt19937_64 random(s.seed);
    std::exponential_distribution<double> gap(1.0 / 3000);
    std::priority_queue<Event> events;
    std::vector<Flow> flows(s.flows);
    std::deque<std::pair<int, bool>> queue;   // flow and mark, the head is in service
    long order = 0; Time now = 0, changed = 0; double area = 0; int left = s.flows;
    auto at = [&](Time t, int kind, int f, int n = 0, bool mark = false, bool late = false) {
        events.push({t, order++, kind, f, n, mark, late});
    };
    auto transmit = [&](int i) {
        Flow& f = flows[i];
        while (f.sent < s.segments && f.sent - f.acked < std::min<long>(f.rwnd, long(f.cwnd))) {
            f.line_free = std::max(f.line_free, now) + tx;
            at(f.line_free + s.link, ARRIVE, i);
            f.sent++;
        }
    };
    auto level = [&] { area += double(queue.size()) * (now - changed); changed = now; };
    auto acknowledge = [&](int i, bool late) {
        Flow& f = flows[i];
        at(now + 3 * (s.link + ack_tx), ACK, i, f.waiting, f.ce, late);
        f.waiting = 0; f.timer++;
    };
    for (int i = 0; i < s.flows; i++) at(Time(gap(random)), START, i);
    while (left > 0) {
        Event e = events.top(); events.pop(); now = e.at;
        Flow& f = flows[e.flow];
        switch (e.kind) {
        case START: transmit(e.flow); break;
        case ARRIVE:                          // §III: marked if the buffer has more than K packets
            level();
            queue.push_back({e.flow, queue.size() > s.k});
            if (queue.size() == 1) at(now + tx, DEPART, 0);
            break;
        case DEPART: {
            level();
            auto [flow, mark] = queue.front(); queue.pop_front();
            at(now + 2 * s.link + tx, RECEIVE, flow, 0, mark);
            if (!queue.empty()) at(now + tx, DEPART, 0);
            break;
        }
        case RECEIVE: {                       // §III: one ACK for two segments, one at a change
            if (f.first < 0) f.first = now; else f.received++;
            bool changes = e.mark != f.ce;
            f.ce = e.mark;
            if (++f.waiting >= 2 || changes) { acknowledge(e.flow, false); break; }
            double timer = 0.2;
            if (s.tdctcp && f.received > 0) {  // algorithm 2
                double rate = f.received / ((now - f.first) * 1e-9);
                timer = std::min(0.2, std::max(s.least_timer, 4 * std::log(100.0) / rate));
            }
            f.waits_since = now;
            at(now + Time(timer * 1e9), TIMER, e.flow, int(++f.timer & 0x7fffffff));
            break;
        }
        case TIMER:
            if ((f.timer & 0x7fffffff) == e.count && f.waiting > 0) {
                f.waited += (now - f.waits_since) * 1e-9;
                acknowledge(e.flow, true);
            }
            break;
        case ACK:
            f.acked += e.count; f.seen += e.count; f.marked += e.mark ? e.count : 0;
            if (f.acked >= f.window_end) {    // §III: alpha = (1 - g) alpha + g F
                f.alpha += (double(f.marked) / std::max(1L, f.seen) - f.alpha) / 16;
                f.seen = f.marked = 0; f.window_end = f.sent;
            }
            if (s.tdctcp && e.late) {         // §IV-B: alpha is reset after a delayed-ACK timeout
                f.alpha = 0; f.seen = f.marked = 0; f.window_end = f.sent;
            }
            if (e.mark && !(s.tdctcp && e.late)) {
                f.cwnd = std::max(1.0, f.cwnd * (1 - f.alpha / 2)); f.ssthresh = f.cwnd;
            } else if (!e.mark && f.cwnd < f.ssthresh) {
                f.cwnd += e.count;
            } else if (!e.mark) {             // algorithm 1
                double step = s.tdctcp ? 1 + 1 / (1 + f.alpha / 2) : 1;
                if (!s.steps) f.cwnd += step * e.count / f.cwnd;
                else if ((f.credit += e.count) >= f.cwnd) { f.credit -= f.cwnd; f.cwnd += step; }
            }
            f.cwnd = std::min(f.cwnd, double(f.rwnd));
            if (f.acked >= s.segments && !f.done) { f.done = now; left--; }
            transmit(e.flow);
            break;
        }
    }
    level();
    Result r{0, 0, area / now, 1e9, 0};
    double sum = 0, squares = 0;
    for (Flow& f : flows) {
        double x = 1.0 / f.done; sum += x; squares += x * x;
        r.wait_least = std::min(r.wait_least, f.waited);
        r.wait_most = std::max(r.wait_most, f.waited);
    }
    r.gbps = double(s.segments) * s.flows * 1460 * 8 / now;
    r.jain = sum * sum / (s.flows * squares);
    return r;
}

int main(int argc, char** argv) {
    const int seeds = argc > 1 ? std::atoi(argv[1]) : 5;
    const bool steps = argc > 2 && argv[2][0] == 's';
    std::printf("K   scheme  Gbit/s  Jain    queue   least and most wait (s)\n");
    for (double k : {6.0, 10.0, 16.0, 24.0, 32.0}) {
        for (bool tdctcp : {false, true}) {
            Result m{};
            for (int i = 1; i <= seeds; i++) {
                Setup s{tdctcp, 10, k, 775000000 / 1460, 10, 2000, unsigned(i), 0.01, steps};
                Result r = run(s);
                m.gbps += r.gbps / seeds; m.jain += r.jain / seeds; m.queue += r.queue / seeds;
                m.wait_least += r.wait_least / seeds; m.wait_most += r.wait_most / seeds;
            }
            std::printf("%-3.0f %-7s %6.3f  %.4f  %6.3f  %.2f %.2f\n", k,
                        tdctcp ? "TDCTCP" : "DCTCP", m.gbps, m.jain, m.queue, m.wait_least,
                        m.wait_most);
        }
    }
}
