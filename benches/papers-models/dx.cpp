// DX on one bottleneck, from the paper (§III, §IV eq. 1 and 8, §V-B) and our reading of it (after a
// cut only data sent since counts): no part of lowtide. N window-limited senders, one FIFO queue, an ACK for each packet, no losses.
//
//   c++ -O2 -std=c++17 -o dx dx.cpp && ./dx
//
// Prints what fig. 8, fig. 15 and the dumbbell of §VI-C 1 show.
#include <algorithm>
#include <cstdio>
#include <queue>
#include <random>
#include <vector>

namespace {

constexpr double kPacket = 1.2;   // us of a packet at 10 Gbit/s
constexpr double kBase = 200.0;   // us, base round trip with one packet time

struct Flow {
  double window = 2;
  double baseline = 1e18;         // least one-way delay so far
  long next = 0, acked = 0;       // packets
  long round_end = 0;             // an ACK of a packet from here on ends the round
  long counts_from = 0;           // after a cut: packets sent since
  double sum = 0;
  long samples = 0;
  bool slow_start = true;
  double window_time = 0, since = 0;
};

struct Event {
  double at;
  int flow;
  double delay;                   // measured one-way delay; below zero: the start of a flow
  bool operator<(const Event& other) const { return at > other.at; }
};

struct Result { double busy, mean_queue, p99_queue, window; };

// `noise`: standard deviation of a measured delay. `excess`: a cut takes the delay above the headroom.
Result run(int flows, double headroom, double noise, bool excess, double duration, unsigned seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> error(0, std::max(noise, 1e-9));
  std::uniform_real_distribution<double> start(0, 2 * kBase);
  std::vector<Flow> all(flows);
  std::priority_queue<Event> events;
  for (int i = 0; i < flows; i++) events.push({start(random), i, -1});
  double free_at = 0, warm = duration / 4, sent = 0;
  std::vector<double> seen;

  auto send = [&](int i, double now) {
    Flow& flow = all[i];
    while (flow.next - flow.acked < std::max(1L, long(flow.window))) {
      double begin = std::max(now, free_at);
      free_at = begin + kPacket;
      if (now > warm) { sent++; seen.push_back((begin - now) / kPacket); }
      double measured = kBase / 2 + (begin - now) + error(random);
      events.push({begin + kBase, i, measured});
      flow.next++;
    }
  };

  while (!events.empty() && events.top().at < duration) {
    Event event = events.top();
    events.pop();
    Flow& flow = all[event.flow];
    if (event.at > warm) {
      flow.window_time += flow.window * (event.at - std::max(warm, flow.since));
      flow.since = event.at;
    }
    if (event.delay < 0) { send(event.flow, event.at); continue; }
    long packet = flow.acked++;
    flow.baseline = std::min(flow.baseline, event.delay);
    if (packet >= flow.counts_from) { flow.sum += event.delay - flow.baseline; flow.samples++; }
    if (packet >= flow.round_end && flow.samples > 0) {
      double queueing = flow.sum / flow.samples;
      flow.round_end = flow.next;
      flow.sum = flow.samples = 0;
      if (queueing > headroom) {
        double by = excess ? queueing - headroom : queueing;
        flow.window = std::max(2.0, flow.window - (flow.window - 1) * by / kBase);
        flow.slow_start = false;
        flow.counts_from = flow.round_end = flow.next;
      } else {
        flow.window += 1;
      }
    } else if (flow.slow_start) {
      flow.window += 1;
    }
    send(event.flow, event.at);
  }
  std::sort(seen.begin(), seen.end());
  double mean = 0, window = 0;
  for (double q : seen) mean += q / seen.size();
  for (Flow& flow : all) window += flow.window_time / (duration - warm) / flows;
  return {sent * kPacket / (duration - warm), mean, seen[seen.size() * 99 / 100], window};
}

Result mean_of(int flows, double headroom, double noise, bool excess) {
  Result sum{};
  for (unsigned seed = 1; seed <= 3; seed++) {
    Result one = run(flows, headroom, noise, excess, 200e3, seed);
    sum.busy += one.busy / 3;
    sum.mean_queue += one.mean_queue / 3;
    sum.p99_queue += one.p99_queue / 3;
    sum.window += one.window / 3;
  }
  return sum;
}

}  // namespace

int main() {
  const double headrooms[] = {1.2, 2.4, 3.6, 4.8, 6, 7.2, 9, 12, 15, 18, 24, 30, 36};
  for (bool excess : {true, false}) {
    std::printf("cut of %s\n", excess ? "the delay above the headroom" : "the whole delay");
    std::printf("  fig. 8: flows, window, (C R + n) / n\n");
    for (int n = 2; n <= 10; n++) {
      std::printf("    %2d  %6.2f  %6.2f\n", n, mean_of(n, 1.2, 0, excess).window,
                  (kBase / kPacket + n) / n);
    }
    std::printf("  dumbbell: flows, busy, mean queue, 99th percentile (packets)\n");
    for (int n : {10, 20, 30}) {
      Result r = mean_of(n, 1.2, 0, excess);
      std::printf("    %2d  %.4f  %5.2f  %5.1f\n", n, r.busy, r.mean_queue, r.p99_queue);
    }
    std::printf("  fig. 15: noise (us), least headroom with 99 %% busy (us), mean queue there\n");
    for (double noise : {0.0, 1.2, 2.4, 3.6, 4.8, 6.0}) {
      bool found = false;
      for (double headroom : headrooms) {
        Result r = mean_of(10, headroom, noise, excess);
        if (r.busy < 0.99) continue;
        std::printf("    %.1f  %5.1f  %5.2f\n", noise, headroom, r.mean_queue);
        found = true;
        break;
      }
      if (!found) std::printf("    %.1f  none up to %.0f\n", noise, headrooms[12]);
    }
  }
}
