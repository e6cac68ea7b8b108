//! What observes the engine of a run on a simulated exchange: the tape, and status and metrics.

use std::sync::Arc;

use cambist_backtest::EngineObserver;
use cambist_core::action::Action;
use cambist_core::event::Event;
use cambist_core::notification::Notification;
use cambist_core::{Engine, MarketSpec, Time};
use cambist_daemon::live::recorder::Recorder;
use cambist_daemon::telemetry::Telemetry;
use cambist_report::{Session, text};

/// Records the engine's events and actions, and passes its notifications to status and metrics.
pub(super) struct Observer {
    recorder: Recorder,
    telemetry: Arc<Telemetry>,
    session: Session,
}

impl Observer {
    pub(super) fn new(
        recorder: Recorder,
        telemetry: Arc<Telemetry>,
        markets: &[MarketSpec],
    ) -> Self {
        Self {
            recorder,
            telemetry,
            session: Session::new(markets),
        }
    }
}

impl EngineObserver for Observer {
    fn event(&mut self, now: Time, event: &Event) {
        self.recorder.record_event(now, event);
    }

    fn actions(&mut self, now: Time, actions: &[Action], engine: &Engine) {
        self.recorder.record_actions(actions, engine);
        for action in actions {
            let Action::Notify(notification) = action else {
                continue;
            };
            self.session.observe(now, notification);
            self.telemetry.observe(notification);
            if matches!(notification, Notification::Status(_)) {
                if self.telemetry.is_watched()
                    && let Some(inspection) = engine.watch(now)
                {
                    self.telemetry.watched(inspection);
                }
                self.telemetry.line(text::line(&self.session));
                self.telemetry.recording(!self.recorder.has_failed());
            }
        }
    }
}
