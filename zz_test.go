//go:build reprisetest
package reprise_test
import ("testing";"fmt";"os";"strconv"; "reprise/internal/store"; "reprise/internal/delivery")
func BenchmarkOurs(b *testing.B) {
	w,_ := strconv.Atoi(os.Getenv("W"))
	n := min(1000*w, 4000)
	var t,s,tx float64
	for b.Loop() {
		startBacklogHook = func(d *delivery.Deliveries) { lastStore = d.Store.(*store.Store) }
		sp := deliverAll(b, n, w)
		t = float64(sp.cpu.Microseconds())/float64(n)
		s, tx = float64(lastStore.Traffic().Statements()-s0)/float64(n), float64(lastStore.Traffic().Transactions()-t0)/float64(n)
	}
	b.ReportMetric(t,"cpu-us"); b.ReportMetric(s,"stmts"); b.ReportMetric(tx,"txs")
	fmt.Sprint()
}
var lastStore *store.Store
var s0,t0 uint64
var startBacklogHook func(d *delivery.Deliveries)
