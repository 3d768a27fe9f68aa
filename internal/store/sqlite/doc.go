// Package sqlite is the store in one SQLite file, for one machine.
//
// One connection writes, and every transaction that may write begins as
// IMMEDIATE: a transaction that reads first and writes later can't wait for
// its turn in SQLite, it fails. Callers in this process queue for that
// connection; other processes (syncd sync beside the daemon) are waited for. A
// few more connections only read; with the write-ahead log they neither block
// the writer nor are blocked.
//
// The database's clock is this process's clock. All processes that use one file
// run on one machine, so it is one clock.
//
// By default a transaction survives the death of the process, but the last
// moments before a power failure may be lost, whole pages at a time (PRAGMA
// synchronous = NORMAL with the write-ahead log). As the cursor is lost along
// with its page, nothing is missing after the next run. With the option
// Synchronous "full" each commit waits for the disk.
package sqlite
