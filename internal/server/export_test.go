package server

import "reprise/internal/server/edge"

// Unbounded lets a person and an address have as many streams as a server has.
func (s *Server) Unbounded(total int) {
	s.feed.Streams = 0
	s.edge.Room = edge.Room{Total: total, PerAddress: total, PerPerson: total}
}

// Shrinks is exported for its table of media types.
var Shrinks = shrinks

// Leaderless are the routes that need no leader, by method.
var Leaderless = leaderless
