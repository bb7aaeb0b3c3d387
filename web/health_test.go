package web

// runs are runs of each outcome, and a day of them.
func runs() (all []object, day object) {
	cells := []object{}
	for i, outcome := range []string{"full", "empty", "retriable", "fatal"} {
		words := any(nil)
		if i > 1 {
			words = "Spotify has trouble"
		}
		all = append(all, object{"Stream": "listens", "StartedAt": stamp, "Took": "1.2 s",
			"Brought": "3 new listens", "Rows": 3 * (i % 2), "Result": outcome, "Outcome": outcome, "Words": words,
			"Detail": words})
		cells = append(cells, object{"X": 5 * i, "Outcome": outcome, "Words": "21:00–21:15 UTC: 3 runs, 12 rows"})
	}
	strips := []object{{"Stream": "listens", "Title": "288 runs, 12 rows", "Width": 480, "Cells": cells},
		{"Stream": "playlists", "Title": "nothing ran", "Width": 480, "Cells": nil}}
	return all, object{"From": stamp, "Strips": strips, "Runs": all, "More": true}
}

// health is the page of the services' health: a day on which one service fails, a day that is over, and the first
// minute.
func health() []any {
	figures := []object{{"Label": "Failed in the last hour", "Value": "34 % of 53 attempts"}}
	drawn := object{"Title": "ListenBrainz: 34 % of 53 attempts failed", "Desc": "Worst from 21:00 UTC on.",
		"Width": 480, "Attempts": "M0 4h4v20h-4z", "Failed": "M0 24h4v4h-4z", "Open": ""}
	endpoint := object{"Name": "GET api.listenbrainz.org/1/user/{name}/listens", "State": "failing",
		"Word": "Fails more than usual", "Facts": figures, "Chart": drawn}
	breaker := object{"Endpoint": "GET api.listenbrainz.org/1/user/{name}/listens"}
	one := without(endpoint, "Name", "ListenBrainz", "Provider", "listenbrainz", "Endpoints",
		[]object{endpoint, without(endpoint, "State", "", "Word", "")},
		"Remarks", []object{{"Endpoint": "GET /a", "Text": "It is left alone until " + stamp + ".",
			"Breaker": breaker}, {"Endpoint": "GET /b", "Text": "Fails.", "Breaker": nil}},
		"Hours", []object{{"At": stamp, "Attempts": 1200, "Failures": 3, "Mean": "1.2 s", "Open": "3 minutes"}})
	live := object{"Headline": "ListenBrainz fails more often than usual: 34 % of 53 attempts in the last hour",
		"Lead": "", "State": "failing", "Day": "", "From": stamp,
		"Days": []object{{"Label": "Last 24 hours", "URL": "/health", "Current": true},
			{"Label": "Thu 19 Nov", "URL": "/health?day=2026-11-19", "Current": false}}, "Providers": []object{one}}
	return []any{live, without(live, "Day", "Thursday 19 November 2026", "State", "", "Lead", "3 %"),
		without(live, "Providers", nil, "State", "new")}
}
