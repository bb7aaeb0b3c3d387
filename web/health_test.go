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
