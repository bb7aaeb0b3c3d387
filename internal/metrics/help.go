package metrics

// help has the help text of every metric, by its name without prefix.
var help = map[string]string{
	"authorization_expiry_timestamp_seconds": "The earliest end of a valid authorization, as a Unix " +
		"time; 0 when none ends by itself.",
	"backoff_next_attempt_timestamp_seconds": "The next attempt after a failure, as a Unix " +
		"time; 0 when none is waiting.",
	"breaker_state": "State of an endpoint's breaker, the worst of the servers that share its name: 0 closed, 1 " +
		"open, 2 half-open.",
	"breaker_transitions_total": "Changes of state of an endpoint's breaker.",
	"connections": "Connections by state: healthy, syncing, waiting (a backoff), held (the upstream asked for a " +
		"wait), needs_reconnect (its person has to act), needs_admin (the administrator has to), paused, new (not " +
		"read yet).",
	"dead_letters_total": "Deliveries that Reprise gave up on, by category.",
	"deliveries": "Deliveries by state: scheduled (to be attempted), running, retrying (an attempt failed), " +
		"parked (waits for a person), done (kept for a week), dead (given up, kept for delivery.keep_dead).",
	"delivery_attempts_total": "Attempts at deliveries, by result: done, postponed (no attempt was " +
		"used up), retrying, parked (a person has to act), dead (given up), canceled (by Reprise).",
	"delivery_oldest_age_seconds": "Age of the delivery that waits longest by itself; 0 when none does. What a " +
		"channel keeps until its quiet hours end does not count.",
	"duplicates_total": "Plays read that were stored already: read before, or from another service.",
	"events_dropped_total": "Events that did not reach a browser: slow_reader counts browsers that were too slow " +
		"and come back to a snapshot, thinned_out news of progress that gave way.",
	"hold_until_timestamp_seconds": "The latest end of a wait that an upstream asked for, as a Unix time; 0 " +
		"when there is none.",
	"skipped_items_total": "Items that an upstream lists but does not let Reprise read (a private playlist, a " +
		"video that is gone), counted when they are first skipped.",
	"listens_refused_total": "Plays read that were not stored, because their times are impossible.",
	"listens_stored_total":  "Listens stored, by the service that reported them first.",
	"notifications_total":   "Notifications on their way to people, by channel: sent, failed, dropped (on purpose).",
	"player_plays_total": "Plays that players sent: stored, known (sent before, or read from a service), refused (no " +
		"play, or not readable); and requests: wrong_token, too_fast, failed (Reprise could not store it).",
	"proxy_headers_refused_total": "Requests with the header by which a proxy says who somebody is, from elsewhere " +
		"than that proxy. The header was ignored.",
	"pool_keys": "API keys of this server by state: ready, cooling (not used for a while), refused (by the " +
		"provider).",
	"pool_rotations_total": "Requests that went on with the next key because of the last one: quota (spent), " +
		"rate_limit, refused.",
	"redrives_total": "Re-drives by people: due counts deliveries that became due, nothing counts calls that " +
		"found none, refused counts calls while too much was waiting.",
	"history_months": "Months of histories at services that are compared with what is here: proven, pending (not " +
		"compared yet), unknown (that fails), short (the service counts more than it lists), gone and held (a " +
		"person has to decide).",
	"servers": "Servers that share the database: leads, answers (the others), silent (not heard of " +
		"lately). All 0 for a server that is alone.",
	"sync_duration_seconds": "How long runs of a stream took.",
	"sync_last_success_timestamp_seconds": "When a connection was last read to its end or written to, as a Unix " +
		"time, the latest of all; 0 for never.",
	"sync_runs_total": "Runs of a stream that have ended: ok, retriable (tried again by itself), fatal (needs a " +
		"person), canceled (by Reprise).",
	"unclassified_errors_total": "Failures that Reprise does not recognise; it tries again.",
	"upstream_attempts_total": "Attempts at upstreams: success, retriable, fatal, quota, canceled; and " +
		"circuit_open for calls that an open breaker held back, which are no attempts.",
	"upstream_duration_seconds": "How long attempts at upstreams took.",
	"websocket_clients":         "Browsers that follow changes, by websocket or Server-Sent Events.",
}
