package store

import (
	"context"
	"slices"

	"reprise/internal/delivery"
)

// Subjects names what deliveries of a person are about, by their numbers: the listen where it is a single one, or the
// playlist. Those without a name are left out.
func (s *Store) Subjects(ctx context.Context, user int64, ids []int64) (map[int64]delivery.Subject, error) {
	all := make(map[int64]delivery.Subject, len(ids))
	type row struct {
		id int64
		delivery.Subject
	}
	scan := func(r scanner) (v row, err error) { return v, r.Scan(&v.id, &v.Title, &v.Artist) }
	for chunk := range slices.Chunk(ids, 100) {
		args := []any{user, delivery.WritePlaylist}
		for _, id := range chunk {
			args = append(args, id)
		}
		these := numbered(3, len(chunk))
		rows, err := list(ctx, s.reader, scan, `SELECT d.id, l.title, l.artist FROM deliveries d JOIN forwards f ON f.delivery_id = d.id JOIN listens l ON l.id = f.listen_id
			WHERE d.user_id = $1 AND d.items = 1 AND d.kind <> $2 AND d.id IN `+these+`
			UNION ALL SELECT d.id, p.name, '' FROM deliveries d JOIN playlists p ON p.user_id = d.user_id AND CAST(p.id AS TEXT) = d.ref
			WHERE d.user_id = $1 AND d.kind = $2 AND d.id IN `+these, args...)
		if err != nil {
			return nil, err
		}
		for _, r := range rows {
			all[r.id] = r.Subject
		}
	}
	return all, nil
}

// CopyDelivery returns the latest delivery of a copy, or library.ErrNotFound when there was none, or it is forgotten.
func (s *Store) CopyDelivery(ctx context.Context, user int64, provider, kind, ref string) (delivery.Delivery, error) {
	d, err := scanDelivery(s.reader.QueryRowContext(ctx, selectDelivery+"WHERE d.user_id = $1 AND d.provider = $2 AND d.kind = $3 AND d.ref = $4 ORDER BY d.id DESC LIMIT 1",
		user, provider, kind, ref))
	return d, found(err)
}
