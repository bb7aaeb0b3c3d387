package web

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
