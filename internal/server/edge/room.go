package edge

// The bounds of a Room.
const (
	most        = 4096 // connections; each takes up to 40 KiB
	mostFrom    = 512  // from one address: a household behind one, with dozens of open pages
	mostStreams = 100  // of one person
	least       = 8
)

// Files that are kept for everything that is no connection: the database, calls to services, files that are read.
const (
	fewestFiles = 40
	mostFiles   = 512
)

// Room is how many connections there may be.
type Room struct {
	Total      int // connections at once
	PerAddress int // connections at once from one address; an IPv6 network of 64 bits is one
	PerPerson  int // streams of events of one person
}

// NewRoom returns the room that this process has, by the number of files that it may open.
func NewRoom() Room { return roomFor(openFiles()) }

// roomFor returns the room of a process that may open so many files; 0 for no limit.
func roomFor(files uint64) Room {
	total := most
	if files > 0 && files < most+mostFiles {
		reserve := min(max(int(files)/2, fewestFiles), mostFiles)
		total = min(max(int(files)-reserve, least), most)
	}
	return Room{Total: total, PerAddress: min(total/2, mostFrom), PerPerson: min(total/4, mostStreams)}
}
