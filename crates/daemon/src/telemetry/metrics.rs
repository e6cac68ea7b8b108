//! Metrics: names, help texts, labels. Their existing series are in `label_sets`; feeds, portfolio and process have metrics
//! of their own beside it. docs/metrics.md lists all of them.

use prometheus::core::Collector;
use prometheus::{
    CounterVec, Gauge, GaugeVec, Histogram, HistogramOpts, HistogramVec, IntCounter, IntCounterVec,
    IntGauge, IntGaugeVec, Opts, Registry,
};

use super::About;
use super::feeds::FeedMetrics;
use super::portfolio::PortfolioGauges;
use super::process::Process;

const ANSWER_S: &[f64] = &[
    0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0,
];
const CANCEL_S: &[f64] = &[
    0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 150.0,
];
const SYNC_S: &[f64] = &[
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1.0,
];
const TICK_S: &[f64] = &[0.00005, 0.0001, 0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 1.0];

/// All metrics.
pub(super) struct Metrics {
    pub(super) registry: Registry,
    pub(super) process: Process,
    pub(super) start_timestamp: Gauge,
    pub(super) start_waiting: Gauge,
    pub(super) up_state: IntGaugeVec,
    pub(super) kill_level: IntGauge,
    pub(super) kill_engagements: IntCounterVec,
    pub(super) config_time: Gauge,
    pub(super) http_requests: IntCounterVec,
    pub(super) http_duration: HistogramVec,
    pub(super) http_in_flight: IntGauge,
    pub(super) venue_errors: IntCounterVec,
    pub(super) decode_errors: IntCounterVec,
    pub(super) budget_waits: IntCounterVec,
    pub(super) budget_allowed: IntCounter,
    pub(super) clock_offset: Gauge,
    pub(super) submitted: IntCounterVec,
    pub(super) attempts: IntCounterVec,
    pub(super) amends: IntCounterVec,
    pub(super) finished: IntCounterVec,
    pub(super) open: IntGaugeVec,
    pub(super) unknown_oldest: Gauge,
    pub(super) foreign: IntCounter,
    pub(super) other_instance: IntCounter,
    pub(super) ack: Histogram,
    pub(super) cancel: Histogram,
    pub(super) fills: IntCounterVec,
    pub(super) filled_quote: CounterVec,
    pub(super) fees_quote: CounterVec,
    pub(super) fees_above: IntCounter,
    pub(super) position: GaugeVec,
    pub(super) inventory_ratio: GaugeVec,
    pub(super) pool_moves_sent: IntCounterVec,
    pub(super) pool_moves_finished: IntCounterVec,
    pub(super) foreign_moves: IntCounterVec,
    pub(super) pool_divergence: GaugeVec,
    pub(super) pool_value: GaugeVec,
    pub(super) pool_fees_owed: GaugeVec,
    pub(super) pool_share: GaugeVec,
    pub(super) pool_age: GaugeVec,
    pub(super) reference_age: GaugeVec,
    pub(super) pool_moving: IntGaugeVec,
    pub(super) balance: GaugeVec,
    pub(super) mismatch: GaugeVec,
    pub(super) books_differ: IntGauge,
    pub(super) books_hold: IntGaugeVec,
    pub(super) books_difference: GaugeVec,
    pub(super) equity: Gauge,
    pub(super) equity_peak: Gauge,
    pub(super) pnl: GaugeVec,
    pub(super) risk_rejects: IntCounterVec,
    pub(super) limit_used: GaugeVec,
    pub(super) held_back: IntGaugeVec,
    pub(super) ramp: Gauge,
    pub(super) tokens: IntGaugeVec,
    pub(super) withheld: IntGaugeVec,
    pub(super) side_empty: CounterVec,
    pub(super) depth_time: GaugeVec,
    pub(super) depth_rejected: IntCounterVec,
    pub(super) mid: GaugeVec,
    pub(super) spread: GaugeVec,
    pub(super) quoting: CounterVec,
    pub(super) reconciles: IntCounterVec,
    pub(super) reconciled_time: Gauge,
    pub(super) journal_appends: IntCounter,
    pub(super) journal_errors: IntCounterVec,
    pub(super) nonces_refused: IntCounterVec,
    pub(super) account_stopped: IntGaugeVec,
    pub(super) switch_expiry: Gauge,
    pub(super) switch_failures: IntCounter,
    pub(super) journal_fsync: Histogram,
    pub(super) journal_size: IntGauge,
    pub(super) signatures: IntCounter,
    pub(super) signatures_refused: IntCounterVec,
    pub(super) loop_tick_timestamp: Gauge,
    pub(super) loop_tick_duration: Histogram,
    pub(super) queue_depth: IntGaugeVec,
    pub(super) queue_drops: IntCounterVec,
    pub(super) invariants: IntCounterVec,
    pub(super) recording: IntGauge,
    pub(super) mode: IntGaugeVec,
    pub(super) queue_in_front: GaugeVec,
    pub(super) portfolio: PortfolioGauges,
    pub(super) feeds: FeedMetrics,
}

pub(super) type Made<T> = Result<T, prometheus::Error>;

/// Registers the metrics.
pub(super) struct Maker {
    registry: Registry,
    /// A row of docs/metrics.md for each.
    #[cfg(test)]
    pub(super) rows: std::cell::RefCell<Vec<String>>,
}

impl Maker {
    pub(super) fn new(registry: &Registry) -> Self {
        Self {
            registry: registry.clone(),
            #[cfg(test)]
            rows: std::cell::RefCell::default(),
        }
    }

    pub(super) fn keep<T: Collector + Clone + 'static>(&self, made: Made<T>) -> Made<T> {
        let made = made?;
        self.registry.register(Box::new(made.clone()))?;
        #[cfg(test)]
        super::metrics_tests::describe(&made, &mut self.rows.borrow_mut());
        Ok(made)
    }

    /// The metric that states the program's version and configuration.
    pub(super) fn build_info(&self, revision: &str, config_hash: &str) -> Made<()> {
        let build = self.wholes(
            "cambist_build_info",
            "Build facts of the running binary; value is always 1.",
            &["version", "revision", "config_hash"],
        )?;
        let version = env!("CARGO_PKG_VERSION");
        build
            .with_label_values(&[version, revision, config_hash])
            .set(1);
        Ok(())
    }

    pub(super) fn gauge(&self, name: &str, help: &str) -> Made<Gauge> {
        self.keep(Gauge::new(name, help))
    }

    pub(super) fn whole(&self, name: &str, help: &str) -> Made<IntGauge> {
        self.keep(IntGauge::new(name, help))
    }

    fn counter(&self, name: &str, help: &str) -> Made<IntCounter> {
        self.keep(IntCounter::new(name, help))
    }

    fn histogram(&self, name: &str, help: &str, buckets: &[f64]) -> Made<Histogram> {
        let opts = HistogramOpts::new(name, help).buckets(buckets.to_vec());
        self.keep(Histogram::with_opts(opts))
    }

    pub(super) fn counters(&self, name: &str, help: &str, labels: &[&str]) -> Made<IntCounterVec> {
        self.keep(IntCounterVec::new(Opts::new(name, help), labels))
    }

    fn sums(&self, name: &str, help: &str, labels: &[&str]) -> Made<CounterVec> {
        self.keep(CounterVec::new(Opts::new(name, help), labels))
    }

    pub(super) fn gauges(&self, name: &str, help: &str, labels: &[&str]) -> Made<GaugeVec> {
        self.keep(GaugeVec::new(Opts::new(name, help), labels))
    }

    fn wholes(&self, name: &str, help: &str, labels: &[&str]) -> Made<IntGaugeVec> {
        self.keep(IntGaugeVec::new(Opts::new(name, help), labels))
    }
}

impl Metrics {
    pub(super) fn new(about: &About) -> Made<Self> {
        Self::made_by(&Maker::new(&Registry::new()), about)
    }

    #[expect(
        clippy::too_many_lines,
        reason = "one entry a metric: the table is the documentation"
    )]
    pub(super) fn made_by(m: &Maker, about: &About) -> Made<Self> {
        let metrics = Self {
            process: Process::new(m)?,
            portfolio: PortfolioGauges::new(m)?,
            feeds: FeedMetrics::made_by(m)?,
            start_timestamp: m.gauge(
                "cambist_start_timestamp_seconds",
                "Unix time at which the process became ready to trade.",
            )?,
            start_waiting: m.gauge(
                "cambist_start_waiting_since_timestamp_seconds",
                "Since when the start waits for its venue; 0 if it does not.",
            )?,
            up_state: m.wholes(
                "cambist_up_state",
                "One-hot run state of the daemon.",
                &["state"],
            )?,
            kill_level: m.whole(
                "cambist_kill_switch_level",
                "Highest engaged kill level, 0 means none.",
            )?,
            kill_engagements: m.counters(
                "cambist_kill_switch_engagements_total",
                "Kill switch engagements by level and cause.",
                &["level", "cause"],
            )?,
            config_time: m.gauge(
                "cambist_config_last_reload_success_timestamp_seconds",
                "Unix time of the last accepted configuration.",
            )?,
            http_requests: m.counters(
                "cambist_http_requests_total",
                "Finished venue requests by endpoint and outcome class.",
                &["endpoint", "outcome"],
            )?,
            http_duration: m.keep(HistogramVec::new(
                HistogramOpts::new(
                    "cambist_http_request_duration_seconds",
                    "Wall time of venue requests, connect to last byte.",
                )
                .buckets(ANSWER_S.to_vec()),
                &["endpoint"],
            ))?,
            http_in_flight: m.whole(
                "cambist_http_requests_in_flight",
                "Venue requests currently awaiting an answer.",
            )?,
            venue_errors: m.counters(
                "cambist_venue_errors_total",
                "Venue answers carrying a numeric error code.",
                &["endpoint", "code"],
            )?,
            decode_errors: m.counters(
                "cambist_venue_decode_errors_total",
                "Venue answers refused by the strict decoder.",
                &["endpoint", "reason"],
            )?,
            budget_waits: m.counters(
                "cambist_rate_limit_waits_total",
                "Requests delayed by the local budget.",
                &["budget"],
            )?,
            budget_allowed: m.counter(
                "cambist_rate_limit_allowed_total",
                "Requests the local budget would have allowed so far.",
            )?,
            clock_offset: m.gauge(
                "cambist_clock_offset_seconds",
                "Venue clock minus local clock, estimated from answers.",
            )?,
            submitted: m.counters(
                "cambist_orders_submitted_total",
                "Logical orders handed to the venue, first attempt only.",
                &["market", "side"],
            )?,
            attempts: m.counters(
                "cambist_order_submit_attempts_total",
                "Submit transmissions including resends of the same bytes.",
                &["market"],
            )?,
            amends: m.counters(
                "cambist_order_amends_total",
                "Amends of resting orders to another price, sent and confirmed by the venue.",
                &["market", "event"],
            )?,
            finished: m.counters(
                "cambist_orders_finished_total",
                "Orders that reached a proven final state.",
                &["market", "state"],
            )?,
            open: m.wholes(
                "cambist_orders_open",
                "Orders by local state.",
                &["market", "state"],
            )?,
            unknown_oldest: m.gauge(
                "cambist_orders_unknown_oldest_timestamp_seconds",
                "Unix time since which the oldest unknown order is unknown, 0 when none.",
            )?,
            foreign: m.counter(
                "cambist_orders_foreign_total",
                "Orders seen on the account that this journal does not know.",
            )?,
            other_instance: m.counter(
                "cambist_orders_other_instance_total",
                "Orders on the account that another cambist instance made.",
            )?,
            ack: m.histogram(
                "cambist_order_ack_duration_seconds",
                "Time from transmission to venue acceptance.",
                ANSWER_S,
            )?,
            cancel: m.histogram(
                "cambist_cancel_duration_seconds",
                "Time from cancel intent to proven final state.",
                CANCEL_S,
            )?,
            fills: m.counters(
                "cambist_fills_total",
                "Fill increments observed.",
                &["market", "side"],
            )?,
            filled_quote: m.sums(
                "cambist_filled_quote_units_total",
                "Filled value in whole quote tokens.",
                &["market", "side"],
            )?,
            fees_quote: m.sums(
                "cambist_fees_quote_units_total",
                "Fees paid in whole quote tokens, fees in base valued at the fill's price.",
                &["market"],
            )?,
            fees_above: m.counter(
                "cambist_fees_above_expected_total",
                "Fill increments whose fee exceeded the configured rate.",
            )?,
            position: m.gauges(
                "cambist_position_base_units",
                "Base gained since opening, in whole base tokens.",
                &["market"],
            )?,
            pool_moves_sent: m.counters(
                "cambist_pool_moves_sent_total",
                "First transmissions of joins and exits.",
                &["market", "kind"],
            )?,
            pool_moves_finished: m.counters(
                "cambist_pool_moves_finished_total",
                "Proven ends of joins and exits by kind of end.",
                &["market", "kind", "end"],
            )?,
            foreign_moves: m.counters(
                "cambist_pool_moves_foreign_total",
                "Joins and exits on the account that are not ours.",
                &["kind"],
            )?,
            pool_divergence: m.gauges(
                "cambist_pool_divergence_ratio",
                "Pool price over book mid minus one.",
                &["market"],
            )?,
            pool_value: m.gauges(
                "cambist_pool_shares_value_quote",
                "Worth of our shares of the pool at the mid, in whole quote tokens.",
                &["market"],
            )?,
            pool_fees_owed: m.gauges(
                "cambist_pool_fees_owed",
                "Fees that are owed to our shares and that exits pay out, in whole tokens. No series while they are \
                 unknown, and where fees stay in the pool.",
                &["market", "token"],
            )?,
            pool_share: m.gauges(
                "cambist_pool_supply_ratio",
                "Our shares over all shares of the pool, 0 to 1.",
                &["market"],
            )?,
            pool_age: m.gauges(
                "cambist_pool_age_seconds",
                "Seconds since the pool was asked what it holds.",
                &["market"],
            )?,
            reference_age: m.gauges(
                "cambist_reference_age_seconds",
                "Age of the last price of a source of reference prices.",
                &["market", "source"],
            )?,
            pool_moving: m.wholes(
                "cambist_pool_moves_open",
                "Joins and exits whose end is not proven, by state.",
                &["market", "state"],
            )?,
            inventory_ratio: m.gauges(
                "cambist_inventory_ratio",
                "Share of market capital held in base, 0 to 1.",
                &["market"],
            )?,
            balance: m.gauges(
                "cambist_balance_units",
                "Balance in whole tokens by kind.",
                &["token", "kind"],
            )?,
            books_differ: m.whole(
                "cambist_books_differ",
                "1 while ledger and venue differ and no operator has explained the difference.",
            )?,
            books_hold: m.wholes(
                "cambist_books_hold",
                "1 while such a difference holds everything back, by cause.",
                &["cause"],
            )?,
            books_difference: m.gauges(
                "cambist_books_difference_quote_units",
                "Worth of what differs, whichever way it goes, by quote token.",
                &["quote"],
            )?,
            mismatch: m.gauges(
                "cambist_balance_mismatch_units",
                "Venue balance minus ledger expectation in whole tokens.",
                &["token"],
            )?,
            equity: m.gauge(
                "cambist_equity_quote_units",
                "Marked account value in whole quote tokens of the first market.",
            )?,
            equity_peak: m.gauge(
                "cambist_equity_peak_quote_units",
                "Highest marked account value since the start.",
            )?,
            pnl: m.gauges(
                "cambist_pnl_quote_units",
                "Profit and loss by cause in whole quote tokens, as `cambist report` counts it: over all runs, without \
                 deposits and withdrawals. The causes add up to it. NaN where it is not known.",
                &["market", "strategy", "cause"],
            )?,
            limit_used: m.gauges(
                "cambist_risk_limit_used_ratio",
                "How much of a limit is used; 1 is all of it. Limits over everything have market \"all\".",
                &["market", "limit"],
            )?,
            held_back: m.wholes(
                "cambist_parts_held_back",
                "Pauses in force that concern a market.",
                &["market"],
            )?,
            ramp: m.gauge(
                "cambist_start_ramp_ratio",
                "Share of full size that is quoted; 1 is full size.",
            )?,
            tokens: m.wholes(
                "cambist_rate_limit_tokens",
                "Requests that a budget allows at once.",
                &["budget"],
            )?,
            withheld: m.wholes(
                "cambist_quotes_withheld",
                "1 while a side has no quotes for this reason; docs/no-quotes.md has the remedy.",
                &["market", "side", "reason"],
            )?,
            side_empty: m.sums(
                "cambist_side_dark_seconds_total",
                "Time for which a side had no order because its order ended before the replacement was sent.",
                &["market", "side"],
            )?,
            risk_rejects: m.counters(
                "cambist_risk_rejects_total",
                "Orders refused before sending, by control.",
                &["market", "control"],
            )?,
            depth_time: m.gauges(
                "cambist_market_data_update_timestamp_seconds",
                "Venue time of the newest accepted snapshot.",
                &["market", "source"],
            )?,
            depth_rejected: m.counters(
                "cambist_market_data_rejected_total",
                "Snapshots refused by sanity checks.",
                &["market", "reason"],
            )?,
            mid: m.gauges(
                "cambist_mid_price_quote_per_base",
                "Mid price of the accepted book.",
                &["market"],
            )?,
            spread: m.gauges(
                "cambist_quote_spread_ratio",
                "Own bid to ask distance over mid.",
                &["market"],
            )?,
            quoting: m.sums(
                "cambist_quoting_seconds_total",
                "Time with valid quotes resting, by side.",
                &["market", "side"],
            )?,
            reconciles: m.counters(
                "cambist_reconcile_runs_total",
                "Reconciliations by result.",
                &["result"],
            )?,
            reconciled_time: m.gauge(
                "cambist_reconcile_last_success_timestamp_seconds",
                "Unix time of the last complete reconciliation.",
            )?,
            journal_appends: m.counter(
                "cambist_journal_appends_total",
                "Journal records made durable.",
            )?,
            signatures_refused: m.counters(
                "cambist_signatures_refused_total",
                "Intents that the signer of the key refused, or did not answer about.",
                &["cause"],
            )?,
            nonces_refused: m.counters(
                "cambist_nonces_refused_total",
                "Nonces of an API key that the venue refused because something else uses the key.",
                &["key"],
            )?,
            account_stopped: m.wholes(
                "cambist_account_stopped",
                "1 while nothing can be known or signed of the account until an operator decides, by cause.",
                &["cause"],
            )?,
            switch_expiry: m.gauge(
                "cambist_dead_mans_switch_expiry_timestamp_seconds",
                "When the venue cancels every order of the account unless the switch is refreshed before; 0 if never.",
            )?,
            switch_failures: m.counter(
                "cambist_dead_mans_switch_failures_total",
                "Times that the switch could not be refreshed.",
            )?,
            journal_errors: m.counters(
                "cambist_journal_errors_total",
                "Journal failures by operation.",
                &["operation"],
            )?,
            journal_fsync: m.histogram(
                "cambist_journal_fsync_duration_seconds",
                "Time to make a record durable.",
                SYNC_S,
            )?,
            journal_size: m.whole("cambist_journal_size_bytes", "Size of the active journal.")?,
            signatures: {
                let kinds = m.counters(
                    "cambist_signatures_total",
                    "Signatures made by kind.",
                    &["kind"],
                )?;
                kinds.with_label_values(&["order"])
            },
            loop_tick_timestamp: m.gauge(
                "cambist_loop_tick_timestamp_seconds",
                "Unix time of the last finished decision loop.",
            )?,
            loop_tick_duration: m.histogram(
                "cambist_loop_tick_duration_seconds",
                "Time of one decision loop.",
                TICK_S,
            )?,
            queue_depth: m.wholes(
                "cambist_queue_depth",
                "Items waiting in an internal queue.",
                &["queue"],
            )?,
            queue_drops: m.counters(
                "cambist_queue_drops_total",
                "Items refused by a full internal queue.",
                &["queue"],
            )?,
            invariants: m.counters(
                "cambist_invariant_violations_total",
                "Run-time invariant checks that failed.",
                &["invariant"],
            )?,
            recording: m.whole(
                "cambist_tape_recording",
                "1 while what is to be recorded is; 0 when the recording ended before the run.",
            )?,
            mode: m.wholes(
                "cambist_mode",
                "One-hot mode of the run; only live sends orders.",
                &["mode"],
            )?,
            queue_in_front: m.gauges(
                "cambist_simulated_queue_in_front_base_units",
                "Base tokens of others in front of the best own order at a simulated exchange; NaN without an order, and if it rests beyond the last listed level.",
                &["market", "side"],
            )?,
            registry: m.registry.clone(),
        };
        m.build_info(&about.revision, &about.config_hash)?;
        let reload = m.whole(
            "cambist_config_last_reload_successful",
            "Whether the last configuration reload was accepted.",
        )?;
        reload.set(1);
        metrics.begin(about);
        Ok(metrics)
    }
}
