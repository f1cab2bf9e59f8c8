//! Random configuration of one end.

use lowtide_tcp::{
    AccEcnOptionRule, AccEcnRules, AckAccept, AckThrottle, Config, CutFrom, CutRoundEnd, CutRule,
    CwrRule, DelayEchoRule, EcnNegotiation, EctClass, FinAck, FreezeGrowth, GrowthCounts,
    GrowthWhen, HandshakeRtt, IdleDecay, InitialWindow, IsnRule, LossFrom, NagleRule, PacingRule,
    Params, RackRtt, RecoveryRule, Reduction, RstAccept, RtoMinApplies, RttGains, RttTicks,
    SynAnswer, SynCookies, TimeWaitReset, TimestampOffset, UndoRule, WindowProbe, ack, cc,
    feedback, switches,
};
use lowtide_units::{Bytes, Duration};

use crate::case::Impairment;
use crate::draw::Draw;

/// Any value that a user may set, the usual ones more often.
pub(crate) fn draw(d: &mut Draw, impairment: Impairment) -> Config {
    let heavy = impairment == Impairment::Heavy;
    // On a perfect path these values ensure that no timer fires without need.
    let patient = impairment == Impairment::Perfect;
    let buffer = |d: &mut Draw| {
        Bytes::new(match d.below(20) {
            0 => d.doublings(1, 500),
            1..=5 => d.doublings(500, 8_000),
            6..=12 => d.doublings(8_000, 100_000),
            _ => d.doublings(65_536, 1_000_000),
        })
    };
    let names = (cc::REGISTRY.names(), feedback::REGISTRY.names(), ack::REGISTRY.names());
    let mut config = Config {
        cc: d.pick(&names.0),
        feedback: d.pick(&names.1),
        ack: d.pick(&names.2),
        ecn: d.pick(&[
            EcnNegotiation::Off,
            EcnNegotiation::Rfc3168,
            EcnNegotiation::Rfc3168,
            EcnNegotiation::Passive,
            EcnNegotiation::AccEcn,
            EcnNegotiation::AccEcn,
            EcnNegotiation::AccEcn,
            EcnNegotiation::AccEcnPassive,
            EcnNegotiation::AccEcnRfc3168,
        ]),
        ect: d.pick(&[EctClass::Data, EctClass::All, EctClass::AllButSyn, EctClass::DataOrAccEcn]),
        accecn_option: d.pick(&[
            AccEcnOptionRule::Disabled,
            AccEcnOptionRule::Recommended,
            AccEcnOptionRule::Minimum,
            AccEcnOptionRule::Full,
            AccEcnOptionRule::Persist,
        ]),
        accecn_rules: d.pick(&[AccEcnRules::Rfc9768, AccEcnRules::Linux]),
        cwr: d.pick(&[CwrRule::Never, CwrRule::AfterReduction]),
        cut: d.pick(&[CutRule::PerWindow, CutRule::PerWindow, CutRule::PerMarkedAck]),
        recut: d.pick(&[CutRoundEnd::AtPoint, CutRoundEnd::PastPoint]),
        freeze_growth: d.pick(&[FreezeGrowth::Off, FreezeGrowth::EceAcks, FreezeGrowth::Round]),
        window_floor: d.range(1, 2) as u32,
        ssthresh_floor: d.range(1, 2) as u32,
        initial_window: d.pick(&[
            InitialWindow::Rfc6928,
            InitialWindow::Rfc3390,
            InitialWindow::Segments(1),
            InitialWindow::Segments(2),
            InitialWindow::Segments(100),
        ]),
        abc_limit: d.pick(&[1, 2, 8, u32::MAX]),
        idle_restart: d.flip(),
        recovery: d.pick(&[
            RecoveryRule::Sack,
            RecoveryRule::Rack,
            RecoveryRule::Rack,
            RecoveryRule::NewReno,
        ]),
        reduction: d.pick(&[Reduction::OneStep, Reduction::Prr]),
        tail_loss_probe: d.flip(),
        max_ack_delay: d.pick(&[Duration::ZERO, Duration::from_ms(10), Duration::from_ms(200)]),
        loss_timer_slack: match d.below(3) {
            _ if patient => Duration::from_ms(300),
            0 => d.micros(1, 20_000),
            _ => Duration::ZERO,
        },
        loss_timer_granularity: Duration::ZERO,
        handshake_rtt: HandshakeRtt::Karn,
        limited_transmit: d.flip(),
        nagle: d.flip(),
        pacing: d.pick(&[PacingRule::Control, PacingRule::Window, PacingRule::Off]),
        rto_initial: d.micros(if patient { 300_000 } else { 5_000 }, 1_000_000),
        rto_min: d.micros(if patient { 300_000 } else { 1_000 }, 300_000),
        rto_min_applies: d.pick(&[RtoMinApplies::Timeout, RtoMinApplies::Variance]),
        rto_max: d.micros(400_000, 10_000_000),
        rto_granularity: d.pick(&[
            Duration::from_us(1),
            Duration::from_ms(1),
            Duration::from_ms(4),
        ]),
        syn_retries: if heavy { d.range(1, 8) as u32 } else { 20 },
        retries: if heavy { d.range(3, 15) as u32 } else { 20 },
        send_buffer: buffer(d),
        tso_segments: d.pick(&[1, 1, 2, 3, 8]),
        gso_max: 65_536,
        tso_defer: 0,
        delack_segments: d.pick(&[1, 2, 2, 4, 20]),
        delack_timer: d.pick(&[
            Duration::ZERO,
            Duration::from_us(500),
            Duration::from_ms(10),
            Duration::from_ms(200),
        ]),
        receive_buffer: buffer(d),
        dsack: d.flip(),
        mtu: match d.below(32) {
            0 => d.range(68, 575),
            n if n < 8 => d.range(577, 9000),
            _ => d.pick(&[576, 1280, 1500, 1500, 9000]),
        } as u32,
        min_mss: 48,
        timestamps: d.flip(),
        timestamp_granularity: d.pick(&[
            Duration::from_us(1),
            Duration::from_ms(1),
            Duration::from_ms(10),
        ]),
        sack: d.permille(650),
        window_scaling: d.permille(650),
        // If all must complete, TIME-WAIT must outlast the last retransmission.
        time_wait: Duration::from_secs(if heavy { d.range(1, 4) } else { 60 }),
        undo: d.pick(&[UndoRule::Off, UndoRule::Eifel]),
        delay_option: d.permille(300),
        delay_echo: d.pick(&[DelayEchoRule::Mean, DelayEchoRule::Newest]),
        delay_slack: d.pick(&[Duration::ZERO, Duration::from_ns(50)]),
        delay_lifetime: d.pick(&[Duration::ZERO, Duration::from_ms(10)]),
        ecn_fallback: d.flip(),
        time_wait_reset: d.pick(&[
            TimeWaitReset::Ignore,
            TimeWaitReset::Ignore,
            TimeWaitReset::End,
        ]),
        isn: d.pick(&[IsnRule::Rfc6528, IsnRule::Random, IsnRule::Random]),
        isn_tick: d.pick(&[Duration::from_ns(64), Duration::from_us(4)]),
        timestamp_offset: d.pick(&[
            TimestampOffset::PerConnection,
            TimestampOffset::PerHostPair,
            TimestampOffset::Random,
            TimestampOffset::Random,
        ]),
        syn_cookies: SynCookies::Off,
        rst_accept: d.pick(&[RstAccept::Exact, RstAccept::Exact, RstAccept::InWindow]),
        syn_answer: d.pick(&[SynAnswer::ChallengeAck, SynAnswer::ChallengeAck, SynAnswer::Reset]),
        ack_accept: d.pick(&[AckAccept::MaxWindow, AckAccept::SentWindow, AckAccept::Any]),
        // A missing answer may be the one that an honest peer needs.
        challenge_ack_limit: if heavy { d.pick(&[0, 1, 10]) } else { d.pick(&[1, 10, u32::MAX]) },
        challenge_ack_interval: d.micros(1, 500_000),
        ack_throttle: d.pick(&[AckThrottle::Challenges, AckThrottle::Empty]),
        keep_alive: d.permille(300),
        // Answers to several probes within a round trip look like duplicate ACKs of later data.
        keep_alive_idle: d.micros(if patient { 300_000 } else { 50_000 }, 3_000_000),
        keep_alive_interval: d.micros(if patient { 300_000 } else { 1_000 }, 1_000_000),
        keep_alive_count: if heavy { d.range(1, 9) as u32 } else { 1_000 },
        user_timeout: if heavy && d.permille(200) {
            d.micros(1_000, 20_000_000)
        } else {
            Duration::ZERO
        },
        params: accecn(d, patient),
        ..Config::default()
    };
    vary(&mut config, patient);
    // Not drawn, so that the draws of a seed stay unchanged.
    config.tso_defer = if config.tso_segments == 8 { 3 } else { 0 };
    if patient {
        // The slack is not added to the probe of a single segment.
        config.max_ack_delay = config.loss_timer_slack;
    }
    if config.tso_segments == 1 {
        config.handshake_rtt = HandshakeRtt::Timestamps;
        config.loss_timer_granularity = config.rto_granularity;
    }
    config
}

/// Rules of other stacks for growth, loss and timers, chosen by values drawn before, so that the
/// draws of a seed stay unchanged.
fn vary(config: &mut Config, patient: bool) {
    let draw = config.rto_initial.as_us();
    let choose = |at: u64, n: u64| (draw / at) % n;
    config.growth_when =
        [GrowthWhen::CwndLimited, GrowthWhen::BelowRwnd, GrowthWhen::Always][choose(1, 3) as usize];
    config.growth_counts = [GrowthCounts::Bytes, GrowthCounts::LimitedBytes, GrowthCounts::Acks]
        [choose(3, 3) as usize];
    // Its first timeouts are longer.
    config.rtt_gains =
        [RttGains::Rfc6298, RttGains::Inet, RttGains::Freebsd][choose(29, 3) as usize];
    config.cut_from = [CutFrom::Cwnd, CutFrom::Window][choose(6, 2) as usize];
    config.loss_from = [LossFrom::Flight, LossFrom::Window][choose(12, 2) as usize];
    config.initial_ssthresh = [u32::MAX, 1, 20_000][choose(24, 3) as usize];
    config.restart_window = [None, Some(InitialWindow::Rfc3390)][choose(72, 2) as usize];
    config.initial_quick_acks = Bytes::new([0, 3_000][choose(144, 2) as usize]);
    if config.freeze_growth == FreezeGrowth::Off && choose(5, 2) == 1 {
        config.freeze_growth = FreezeGrowth::FirstEce;
    }
    if choose(31, 2) == 1 {
        config.growth_when = GrowthWhen::WindowUsage;
        config.growth_counts = GrowthCounts::Delivered;
        config.nagle_rule = NagleRule::Minshall;
        config.rack_rtt = RackRtt::LastProcessed;
        config.idle_decay = IdleDecay::PerRto;
        config.initial_quick_ack_count = 16;
        config.resend_restarts_rto = true;
        config.recovery_after_rto = true;
    }
    // A loss or timeout without need would be an error on a perfect path.
    if !patient {
        if choose(31, 2) == 1 {
            config.window_probe = WindowProbe::Empty;
            config.fin_ack = FinAck::Delayed;
            config.probe_without_rtt = Duration::from_secs(1);
            if config.undo == UndoRule::Eifel {
                config.undo = UndoRule::Timestamps;
            }
        }
        if config.undo == UndoRule::Off && choose(23, 2) == 1 {
            config.undo = UndoRule::FRto;
        }
        config.dup_thresh = [3, 1, 2, 10][choose(7, 4) as usize];
        config.rto_slop = Duration::from_ms([0, 200][choose(11, 2) as usize]);
        config.syn_linear_timeouts = [0, 4][choose(13, 2) as usize];
        config.rtt_ticks = [RttTicks::AtLeastOne, RttTicks::FromZero, RttTicks::FirstPlusOne]
            [choose(17, 3) as usize];
        config.rtt_granularity = Duration::from_ms([0, 1, 10][choose(19, 3) as usize]);
    }
}

/// Without ACK loss, no loss is assumed: a long ACK covers coalesced segments.
fn accecn(d: &mut Draw, patient: bool) -> Params {
    let mut config = Config::default();
    let wrap = d.pick(&["safest", "likely", "least"]);
    let marks = d.range(1, 7).to_string();
    for (name, text) in
        [("accecn.wrap", if patient { "least" } else { wrap }), ("accecn.marks-per-ack", &marks)]
    {
        switches::set_text(&mut config, name, text).expect("a value of it");
    }
    config.params
}
