package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/syncdhq/syncd"
	"github.com/syncdhq/syncd/internal/config"
	"github.com/syncdhq/syncd/internal/ingest"
	"github.com/syncdhq/syncd/internal/run"
	"github.com/syncdhq/syncd/internal/scheduler"
	"github.com/syncdhq/syncd/internal/store"
)

func (a *app) replayCommand() *cobra.Command {
	var data, file string
	c := &cobra.Command{
		Use:   "replay ID...",
		Short: "Try again to ingest rejects",
		Long: `Try again to ingest rejects, with their own bytes or with corrected ones.

A replay goes the way that every record goes. It never overwrites what the
provider has said since, and it takes the source's lease, so that it waits for
nobody and nobody for it. A reject that is ingested is closed; one that still
can't be stays as it is.`,
		Example: `  syncd rejects show 7
  syncd rejects replay 7                                  after its cause was mended
  syncd rejects replay 7 --data 'acme,1007,2026-06-01,paid,12.50,EUR,'
  syncd rejects replay 7 --file corrected.json            or - for standard input`,
		Args: cobra.MinimumNArgs(1), ValidArgsFunction: a.completeReject,
		RunE: func(c *cobra.Command, args []string) error {
			raw, err := a.corrected(data, file, len(args))
			if err != nil {
				return err
			}
			return a.replay(c.Context(), args, raw)
		},
	}
	c.Flags().StringVar(&data, "data", "", "ingest these `bytes` instead")
	c.Flags().StringVar(&file, "file", "", "ingest the bytes of this `file` instead")
	c.MarkFlagsMutuallyExclusive("data", "file")
	return c
}

// corrected returns the bytes to ingest instead of a reject's own, or nil.
func (a *app) corrected(data, file string, n int) ([]byte, error) {
	if (data != "" || file != "") && n != 1 {
		return nil, usageError{errors.New("corrected bytes are for one reject: name one ID")}
	}
	switch {
	case data != "":
		return []byte(data), nil
	case file == "-":
		return io.ReadAll(a.In)
	case file != "":
		return os.ReadFile(file)
	}
	return nil, nil
}

func (a *app) replay(ctx context.Context, ids []string, raw []byte) error {
	cfg, s, err := a.read(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	f, err := a.inForce(ctx, cfg, s)
	if err != nil {
		return err
	}
	defer f.close()
	left := 0
	for _, text := range ids {
		id, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return usageError{fmt.Errorf("%q is not the id of a reject (see: syncd rejects list)", text)}
		}
		reject, err := s.Reject(ctx, id)
		if err != nil {
			return fmt.Errorf("reject %d: %w", id, err)
		}
		ok, err := a.replayOne(ctx, cfg, f, reject, raw)
		if err != nil {
			return fmt.Errorf("reject %d: %w", id, err)
		}
		if !ok {
			left++
		}
	}
	if left > 0 {
		return errRejected
	}
	return nil
}

// replayOne ingests one reject and reports whether it could be.
func (a *app) replayOne(ctx context.Context, cfg *config.Config, f *fleet, reject store.Reject, raw []byte) (bool, error) {
	src, err := find(ctx, cfg, f.store, reject.Key)
	switch {
	case err != nil:
		return false, err
	case reject.Resolution != "":
		fmt.Fprintf(a.Out, "reject %d was %s already\n", reject.ID, reject.Resolution)
		return true, nil
	case raw == nil && reject.RawSize > int64(len(reject.Raw)):
		return false, fmt.Errorf("only %d of its %d bytes were kept: give the whole record with --file", len(reject.Raw), reject.RawSize)
	case raw == nil:
		raw = reject.Raw
	}
	h, err := a.takeHold(ctx, f, cfg, reject.Key)
	if err != nil {
		return false, err
	}
	defer h.release()
	var counters store.Counters
	var failed error
	_, err = h.run(src, scheduler.Plan{Keep: true}, false, func(ctx context.Context, task scheduler.Task) scheduler.Result {
		note := fmt.Sprintf("replay of reject %d", reject.ID)
		if counters, failed = f.replay(ctx, cfg, src, task, reject, raw); failed != nil {
			return scheduler.Result{State: store.Failed, Error: failed.Error(), Notes: note}
		}
		return scheduler.Result{State: store.Done, Notes: note}
	})
	if err != nil {
		return false, err
	}
	if failed != nil {
		return false, failed
	}
	if counters.Rejected > 0 {
		fmt.Fprintf(a.Out, "reject %d still can't be ingested (see: syncd rejects list %s)\n", reject.ID, oneLine(reject.Key.String()))
		return false, nil
	}
	fmt.Fprintf(a.Out, "reject %d: %s\n", reject.ID, counted(counters))
	return true, nil
}

// replay makes a record of a reject's bytes and ingests it.
func (f *fleet) replay(ctx context.Context, cfg *config.Config, src *config.Source, task scheduler.Task, reject store.Reject, raw []byte) (store.Counters, error) {
	source, _, err := f.source(ctx, cfg, src, task.Claim.Account)
	if err != nil {
		return store.Counters{}, err
	}
	stream, err := streamNamed(source, reject.Stream)
	if err != nil {
		return store.Counters{}, err
	}
	record := syncd.Record{ID: reject.RecordID, Mark: syncd.Mark(reject.Mark), Deleted: reject.Deleted, Data: raw, Raw: raw}
	if stream.Replay != nil {
		if record, err = stream.Replay(ctx, raw); err != nil {
			return store.Counters{}, err
		}
	}
	record.Place = reject.Place
	batch := ingest.Prepare(stream, reject.Part, []syncd.Record{record}, nil, f.now())
	return f.runner(cfg).Writer.Commit(ctx, task.Claim.Lease, ingest.Commit{
		Stream: stream, Part: reject.Part, Batch: batch, Replay: reject.ID, Resolve: true,
		Progress: store.Progress{RunID: task.Run.ID},
	})
}

func streamNamed(source run.Source, name string) (syncd.Stream, error) {
	var names []string
	for _, s := range source.Streams {
		if s.Name == name {
			return s, nil
		}
		names = append(names, s.Name)
	}
	return syncd.Stream{}, fmt.Errorf("the source has no stream %q any more: it has %s", name, strings.Join(names, ", "))
}

// streamNames returns the names of a source's streams.
func streamNames(src *config.Source) ([]string, error) {
	streams, err := streamsOf(src)
	if err != nil {
		return nil, err
	}
	names := make([]string, len(streams))
	for i, s := range streams {
		names[i] = s.Name
	}
	return names, nil
}

// streamsOf returns a source's streams, to be looked at and not fetched from.
func streamsOf(src *config.Source) ([]syncd.Stream, error) {
	client, err := syncd.NewClient(syncd.NoBase, nil, nil)
	if err != nil {
		return nil, err
	}
	return src.Options.Streams(client)
}
