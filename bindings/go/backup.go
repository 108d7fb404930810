package latchkey

// #include <stdlib.h>
// #include "latchkey_go.h"
import "C"

import (
	"context"
	"strings"
	"unsafe"
)

// BackupPhase is a step of a backup, a check or a restore.
type BackupPhase int

// The steps in their order.
const (
	BackupCheckpoint BackupPhase = C.LK_BACKUP_CHECKPOINT // the backup fixes its first point
	BackupPages      BackupPhase = C.LK_BACKUP_PAGES      // pages are copied, checked or restored
	BackupLog        BackupPhase = C.LK_BACKUP_LOG        // the rest of the log
	BackupCheck      BackupPhase = C.LK_BACKUP_CHECK      // the files are read back; a restored database is verified
)

// BackupProgress is how far a backup, a check or a restore has come.
type BackupProgress struct {
	Phase       BackupPhase
	Done, Total uint64 // of the phase: page ids or bytes; Total 0 is not known
	Bytes       uint64 // written so far, or read by a check
}

// BackupInfo describes a finished backup.
type BackupInfo struct {
	Number       uint32 // 1 is the full backup; the others are incremental
	ID, ParentID uint64 // ParentID: of the backup before; 0 is none
	DatabaseID   uint64
	Pages        uint64 // page images in its files
	ResumedPages uint64 // of these, pages that an interrupted attempt had copied
	Bytes        uint64 // of its files
	LogBytes     uint64 // of these, of the log
}

// BackupOptions of DB.Backup.
type BackupOptions struct {
	Incremental       bool                 // write only what changed since the newest backup in the directory
	SkipCheck         bool                 // do not read everything back before the backup counts as finished
	MaxBytesPerSecond uint64               // of copied pages; 0 is no limit
	Progress          func(BackupProgress) // called every few MiB, by this goroutine
}

// CheckOptions of CheckBackups.
type CheckOptions struct {
	Number   uint32 // the newest backup to check; 0 is all
	Progress func(BackupProgress)
}

// RestoreOptions of RestoreBackup.
type RestoreOptions struct {
	Number     uint32   // of the backup; 0 is the newest
	Options    *Options // of the new database; nil is the defaults
	SkipVerify bool     // do not walk every tree of the new database at the end
	Progress   func(BackupProgress)
}

// tellBackup is a watcher's function that tells progress.
func tellBackup(progress func(BackupProgress)) func(unsafe.Pointer) {
	if progress == nil {
		return nil
	}
	return func(told unsafe.Pointer) {
		p := (*C.lk_backup_progress)(told)
		progress(BackupProgress{BackupPhase(p.phase), uint64(p.done), uint64(p.total), uint64(p.bytes)})
	}
}

// withPaths runs a call with the paths as strings of C.
func withPaths(paths []string, call func(of []*C.char) error) error {
	var of []*C.char
	for _, path := range paths {
		if strings.ContainsRune(path, 0) {
			return invalid("the path has a NUL byte")
		}
		text := C.CString(path)
		defer C.free(unsafe.Pointer(text))
		of = append(of, text)
	}
	return call(of)
}

func infoOf(info *C.lk_backup_info) BackupInfo {
	return BackupInfo{uint32(info.number), uint64(info.id), uint64(info.parent_id), uint64(info.database_id),
		uint64(info.pages), uint64(info.resumed_pages), uint64(info.bytes), uint64(info.log_bytes)}
}

func boolOf(b bool) C.int {
	if b {
		return 1
	}
	return 0
}

// Backup copies a consistent state of the database into directory while others go on reading and writing. A full backup
// needs a directory that is empty or missing, or that holds an unfinished backup of this database, which is continued.
// Once ctx is done it stops, and the same call continues later.
func (db *DB) Backup(ctx context.Context, directory string, options BackupOptions) (made BackupInfo, err error) {
	err = withPaths([]string{directory}, func(paths []*C.char) error {
		return watched(ctx, tellBackup(options.Progress), func(watcher C.uintptr_t) error {
			s, err := db.enter()
			if err != nil {
				return err
			}
			info := C.lk_backup_info{struct_size: C.sizeof_lk_backup_info}
			code := C.lkgo_backup(db.handle, paths[0], boolOf(options.Incremental), boolOf(options.SkipCheck),
				C.uint64_t(options.MaxBytesPerSecond), watcher, &info, s.c)
			made = infoOf(&info)
			return db.leave(s, code)
		})
	})
	return made, err
}

func takeBackups(s *scratch, list C.lk_backups, code C.lk_code) (all []BackupInfo, err error) {
	if code != C.LK_OK {
		return nil, s.failure(code)
	}
	defer C.lk_backups_release(list, nil)
	for i := C.size_t(0); i < C.lk_backups_count(list); i++ {
		info := C.lk_backup_info{struct_size: C.sizeof_lk_backup_info}
		if C.lk_backups_at(list, i, &info, nil) == C.LK_OK {
			all = append(all, infoOf(&info))
		}
	}
	return all, nil
}

// ListBackups returns the finished backups in directory, oldest first. ErrNotFound: there is none.
func ListBackups(directory string) (all []BackupInfo, err error) {
	err = withPaths([]string{directory}, func(paths []*C.char) error {
		s := takeScratch()
		defer s.give()
		var list C.lk_backups
		code := C.lk_list_backups(paths[0], &list, &s.c.error)
		all, err = takeBackups(s, list, code)
		return err
	})
	return all, err
}

// CheckBackups is ListBackups, and proves every byte of the backups. ErrDataLoss names a file that is damaged or missing.
func CheckBackups(ctx context.Context, directory string, options CheckOptions) (all []BackupInfo, err error) {
	err = withPaths([]string{directory}, func(paths []*C.char) error {
		return watched(ctx, tellBackup(options.Progress), func(watcher C.uintptr_t) error {
			s := takeScratch()
			defer s.give()
			var list C.lk_backups
			code := C.lkgo_check_backups(paths[0], C.uint32_t(options.Number), watcher, &list, s.c)
			all, err = takeBackups(s, list, code)
			return err
		})
	})
	return all, err
}

// RestoreBackup makes a database at path from the backups in directory. path must be missing or an empty directory; it
// gets its content in one step, at the end. Once ctx is done it stops, and leaves nothing.
func RestoreBackup(ctx context.Context, directory, path string, options RestoreOptions) error {
	return withPaths([]string{directory, path}, func(paths []*C.char) error {
		return watched(ctx, tellBackup(options.Progress), func(watcher C.uintptr_t) error {
			s := takeScratch()
			defer s.give()
			var database C.lk_options
			if options.Options != nil {
				if code := C.lk_options_create(&database, &s.c.error); code != C.LK_OK {
					return s.failure(code)
				}
				defer C.lk_options_release(database, nil)
				if err := options.Options.apply(database, s); err != nil {
					return err
				}
			}
			code := C.lkgo_restore(paths[0], paths[1], C.uint32_t(options.Number), database,
				boolOf(options.SkipVerify), watcher, s.c)
			if code != C.LK_OK {
				return s.failure(code)
			}
			return nil
		})
	})
}
