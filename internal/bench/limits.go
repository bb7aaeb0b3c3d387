package main

// limit is what a figure should be at most or at least.
type limit struct {
	what      string // for people
	benchmark string // without the number of processors
	unit      string
	per       string // the benchmark whose figure of the same unit it is divided by; empty for none
	most      float64
	least     float64
}

// limits are all of them, in the order in which they are printed. The sources are the issues that set them; see
// docs/performance.md.
var limits = []limit{
	{what: "a week of Listening, 500,000 listens", benchmark: "ListeningPage/500000", unit: "ms/week", most: 100},
	{what: "all time", benchmark: "ListeningPage/500000", unit: "ms/op", most: 100},
	{what: "the page of an artist", benchmark: "ArtistPage/500000", unit: "ms/op", most: 100},
	{what: "Listens of a rare artist", benchmark: "ListensOfARareArtist/500000", unit: "ms/op", most: 100},
	{what: "what became of sent listens, after one more", benchmark: "Forwarding/500000", unit: "ms/op", most: 100},
	{what: "search, a key on average", benchmark: "Search", unit: "ms/key", most: 30},
	{what: "search, the slowest key", benchmark: "Search", unit: "slowest-ms", most: 100},
	{what: "export as JSON Lines", benchmark: "Export/listens.jsonl", unit: "listens/s", least: 75_000},
	{what: "first listens, of bare inserts with the same indexes", benchmark: "Storing", unit: "of-bare", least: 0.4},
	{what: "first listens, of one bare table", benchmark: "Storing", unit: "of-one-table", least: 0.3},
	{what: "a second service's, of one bare table", benchmark: "Storing", unit: "second-of-one-table", least: 0.4},
	{what: "the same listens again, of one bare table", benchmark: "Storing", unit: "again-of-one-table", least: 0.6},
	{what: "plays of players, 16 at once, of bare inserts", benchmark: "Players", unit: "together-of-bare", least: 0.5},
	{what: "one after the other", benchmark: "Players", unit: "of-bare", least: 0.5},
	{what: "with 500,000 listens stored, of with none", benchmark: "Players", unit: "of-empty", least: 0.9},
	{what: "a play of a player during an import, 99 %", benchmark: "Players", unit: "p99-ms", most: 20},
	{what: "on Postgres, of SQLite: first listens", benchmark: "Engines", unit: "first-of-sqlite", least: 0.6},
	{what: "a second service's", benchmark: "Engines", unit: "second-of-sqlite", least: 0.6},
	{what: "plays of players, one after the other", benchmark: "Engines", unit: "single-of-sqlite", least: 0.8},
	{what: "the page of an artist, times SQLite's", benchmark: "Engines", unit: "artist-times", most: 1.3},
	{what: "a key of a search, times SQLite's", benchmark: "Engines", unit: "search-times", most: 1.3},
	{what: "a listen", benchmark: "Engines", unit: "B/listen", most: 200},
	{what: "three servers with a third of a core each, of one: pages", benchmark: "Servers/3", unit: "pages-of-one",
		least: 2.4},
	{what: "plays of players", benchmark: "Servers/3", unit: "plays-of-one", least: 2.4},
	{what: "processor time of the busiest of them, for pages", benchmark: "Servers/3", unit: "busiest-%", most: 45},
	{what: "runs", benchmark: "ServersCall/3", unit: "runs-of-one", least: 2.4},
	{what: "deliveries, with storing the plays", benchmark: "ServersCall/3", unit: "deliveries-of-one", least: 2.4},
	{what: "processor time of the busiest, for runs", benchmark: "ServersCall/3", unit: "busiest-%", most: 45},
	{what: "a play at one of them on a page of another, 99 %", benchmark: "Servers/3", unit: "seen-p99-ms", most: 300},
	{what: "a listen on disk", benchmark: "LargeLibrary/newest_first", unit: "B/listen", most: 110},
	{what: "a first sync, of bare inserts", benchmark: "Ingest", unit: "rows/s", per: "BareInserts", least: 0.35},
	{what: "the roll-up of metrics, of a first sync", benchmark: "Ingest", unit: "rollup-%", most: 1},
	{what: "connection events, of the bare library", benchmark: "Events/connection", unit: "%ofbare", least: 75},
	{what: "notification events", benchmark: "Events/notification", unit: "%ofbare", least: 75},
	{what: "listens events", benchmark: "Events/listens", unit: "%ofbare", least: 75},
	{what: "progress events", benchmark: "Events/progress", unit: "%ofbare", least: 75},
	{what: "deliveries events", benchmark: "Events/deliveries", unit: "%ofbare", least: 75},
	{what: "a connection event at 1,000 pages, 99 %", benchmark: "Events/connection", unit: "p99-ms", most: 30},
	{what: "an open page", benchmark: "Events/socket", unit: "KiB/socket", most: 45},
	{what: "an open page", benchmark: "Events/socket", unit: "goroutines/socket", most: 3},
	{what: "publishing to 1, of bare channel sends", benchmark: "Publish/1", unit: "of-sends", least: 0.7},
	{what: "publishing to 100", benchmark: "Publish/100", unit: "of-sends", least: 0.9},
	{what: "deliveries to 1 connection, of bare calls by River", benchmark: "Deliver/1", unit: "%ofcalling", least: 70},
	{what: "to 8", benchmark: "Deliver/8", unit: "%ofcalling", least: 70},
	{what: "to 100", benchmark: "Deliver/100", unit: "%ofcalling", least: 70},
	{what: "deliveries to 1, of empty jobs of River", benchmark: "Deliver/1", unit: "%ofempty", least: 70},
	{what: "to 8", benchmark: "Deliver/8", unit: "%ofempty", least: 70},
	{what: "to 100", benchmark: "Deliver/100", unit: "%ofempty", least: 70},
	{what: "a tick, 100 connections", benchmark: "Tick/100", unit: "cpu-µs/connection", most: 500},
	{what: "a tick, 1,000 connections", benchmark: "Tick/1000", unit: "cpu-µs/connection", most: 500},
	{what: "a tick, 10,000 connections", benchmark: "Tick/10000", unit: "cpu-µs/connection", most: 500},
	{what: "/metrics, 1,000 connections", benchmark: "Scrape/1000", unit: "ms/op", most: 20},
	{what: "/metrics, 10,000 connections", benchmark: "Scrape/10000", unit: "cpu-ms", most: 100},
	{what: "the slowest page of an administrator", benchmark: "Pages/administrator", unit: "slowest-cpu-ms", most: 100},
	{what: "the slowest page of a member", benchmark: "Pages/member", unit: "slowest-cpu-ms", most: 100},
	{what: "a permit", benchmark: "Acquire/one-key", unit: "ns/op", most: 100},
	{what: "a permit", benchmark: "Acquire/one-key", unit: "allocs/op", most: 0},
	{what: "the way of a call without the network", benchmark: "Transport/overhead", unit: "ns/op", most: 5000},
}
