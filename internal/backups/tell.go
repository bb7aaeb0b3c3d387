package backups

import (
	"context"
	"time"

	"reprise/internal/notify"
	"reprise/internal/words"
)

// trouble is what the administrators have to know. It is the cause of their notification.
type trouble string

const (
	unknown trouble = "?" // nothing was told or taken back since the start
	fine    trouble = ""
	none    trouble = "backup_none"   // there is no copy
	old     trouble = "backup_old"    // there is none of these days
	broken  trouble = "backup_failed" // the latest one could not be made
	useless trouble = "backup_trial"  // the latest one could not be restored
)

// causes are those of all notifications about backups.
var causes = []trouble{none, old, broken, useless}

// wrong returns what is wrong now.
func (b *Backups) wrong(now time.Time) trouble {
	s := b.Status()
	b.mu.Lock()
	since := b.record.Since
	b.mu.Unlock()
	switch {
	case s.Failed != "":
		return broken
	case s.Trial != "":
		return useless
	case !s.Listed, now.Sub(since) < warnAfter:
		return fine
	case len(s.Copies) == 0:
		return none
	case now.Sub(s.Copies[0].Made) >= warnAfter:
		return old
	}
	return fine
}

// tell tells the administrators what is wrong, once, and takes back what no longer is.
func (b *Backups) tell(ctx context.Context, now time.Time) error {
	b.mu.Lock()
	first := b.record.Since.IsZero()
	if first {
		b.record.Since = now
	}
	b.mu.Unlock()
	if first {
		b.remember(ctx)
	}
	t := b.wrong(now)
	if t == b.told {
		return nil
	}
	for _, other := range causes {
		if other != t {
			if err := b.opt.Notifier.Resolve(ctx, 0, "", string(other)); err != nil {
				return err
			}
		}
	}
	if t != fine {
		worded := func(int64) notify.Notification { return b.notice(t) }
		if err := b.opt.Notifier.OpenForAdmins(ctx, worded); err != nil {
			return err
		}
	}
	b.told = t
	return nil
}

func (b *Backups) notice(t trouble) notify.Notification {
	s := b.Status()
	n := notify.Notification{Cause: string(t), Severity: notify.Warning,
		Action: notify.Action{Label: words.New("backup.notice.open"), URL: "/settings/server#backups"}}
	switch t {
	case none:
		n.Title, n.Message = words.New("backup.notice.none"), words.New("backup.notice.none_text")
	case old:
		n.Title = words.New("backup.notice.old", "Day", words.Day(s.Copies[0].Made))
		n.Message = words.New("backup.notice.old_text")
	case broken:
		n.Title, n.Message = words.New("backup.notice.failed"), words.New("backup.notice.failed_text")
		n.Detail = s.Failed
	case useless:
		n.Title, n.Message = words.New("backup.notice.trial"), words.New("backup.notice.trial_text")
		n.Detail = s.Trial
	}
	return n
}
