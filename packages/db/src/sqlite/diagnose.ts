import { accessSync, constants, statfsSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import type { Runtime } from '@oncue/runtime'
import {
  bytes,
  type Check,
  type Finding,
  fail,
  lookAll,
  ok,
  oldest,
  type Seen,
  warn,
} from '../portable/finding.ts'
import { type Database, driverFor, loadDriver } from './driver.ts'
import { toOncueError } from './errors.ts'
import { READY } from './sql.ts'

const MB = 1_048_576
const LITTLE_SPACE = 512 * MB
const LARGE_WAL = 256 * MB

/** Of a file that is there. `isMigrated` says whether our tables are in it. */
export async function diagnoseSqlite(
  file: string,
  isMigrated: boolean,
  schema: string,
  runtime: Runtime,
): Promise<Finding[]> {
  const Driver = driverFor(await loadDriver(), schema)
  const db = new Driver(file, { readonly: true, fileMustExist: true, timeout: 1_000 })
  const checks: Check[] = [
    ['version', () => ok(`SQLite ${firstValue(db, 'SELECT sqlite_version()')}`)],
    ['clock', () => ok('that of this host (SQLite has no clock of its own)')],
    ['journal', () => journal(db, file)],
    ['permissions', () => permissions(file)],
    ['disk space', () => diskSpace(file)],
    ['free pages', () => freePages(db, file)],
  ]
  if (isMigrated)
    checks.push(
      ['claim plan', () => claimPlan(db, `${schema}_jobs_ready`)],
      ['oldest rows', () => oldestRows(db, runtime)],
    )
  try {
    return await lookAll(checks, toOncueError)
  } finally {
    db.close()
  }
}

/** The first column of the first row. */
function firstValue(db: Database, query: string): unknown {
  const row = db.prepare(query).raw().get() as unknown[] | undefined
  return row?.[0]
}

function journal(db: Database, file: string): Seen {
  const mode = firstValue(db, 'PRAGMA journal_mode')
  if (mode !== 'wal') {
    return fail(
      `mode ${mode}`,
      'Readers and writers would wait for each other: run `npx oncue migrate`, or `PRAGMA journal_mode = WAL` while no process uses the file.',
    )
  }
  const size = statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0
  const found = size === 0 ? 'WAL is empty' : `WAL of ${bytes(size)}`
  if (size < LARGE_WAL) return ok(found)
  return warn(found, 'A long read prevents the checkpoint: find the process that is reading.')
}

function permissions(file: string): Seen {
  // The journal and the locks of workers are in the same folder.
  const folder = dirname(file)
  const locked = [file, folder].filter((path) => !isWritable(path))
  if (locked.length > 0) {
    return fail(
      `no write permission for ${locked.join(' and ')}`,
      'Give this user write permission for the file and its folder.',
    )
  }
  if (isPublic(file, folder)) {
    return warn(
      'other users of this machine can read the file and all payloads in it',
      `If they should not: chmod 600 ${file}*; chmod 700 ${folder}`,
    )
  }
  return ok('file and folder are writable, and private to this user')
}

/** Windows has no POSIX permissions. */
function isPublic(file: string, folder: string): boolean {
  if (process.platform === 'win32') return false
  const [fileMode, folderMode] = [statSync(file).mode, statSync(folder).mode]
  return (fileMode & 0o044) !== 0 && (folderMode & 0o011) !== 0
}

function isWritable(path: string): boolean {
  try {
    accessSync(path, constants.R_OK | constants.W_OK)
    return true
  } catch {
    return false
  }
}

function diskSpace(file: string): Seen {
  const { bavail, bsize } = statfsSync(dirname(file))
  const found = `${bytes(bavail * bsize)} free`
  if (bavail * bsize > LITTLE_SPACE) return ok(found)
  return warn(found, 'Free disk space, or move the file: on a full disk no job can be enqueued or settled.')
}

function freePages(db: Database, file: string): Seen {
  const pages = Number(firstValue(db, 'PRAGMA page_count'))
  const free = Number(firstValue(db, 'PRAGMA freelist_count'))
  const wasted = free * Number(firstValue(db, 'PRAGMA page_size'))
  const share = Math.round((100 * free) / Math.max(1, pages))
  const found = `${bytes(wasted)} (${share}%) of ${bytes(statSync(file).size)}`
  if (wasted < LITTLE_SPACE || free < pages / 2) return ok(found)
  return warn(found, 'Free pages are reused before the file grows. `VACUUM` returns them to the disk.')
}

function claimPlan(db: Database, index: string): Seen {
  const plan = explain(db)
  if (plan.includes(`USING INDEX ${index}`) && !plan.includes('TEMP B-TREE')) {
    return ok(`uses the index ${index}`)
  }
  return fail(
    plan,
    `The index ${index} is missing or wrong: restore it from the migrations, then \`REINDEX\`.`,
  )
}

/** The statement names its index, so that a missing one is an error and not another plan. */
function explain(db: Database): string {
  const values = Array.from(READY.matchAll(/\?/g), () => null)
  try {
    const steps = db.prepare(`EXPLAIN QUERY PLAN ${READY}`).all(...values) as { detail: string }[]
    return steps.map(({ detail }) => detail).join('; ')
  } catch (error) {
    return (error as Error).message
  }
}

/** By their ids, which begin with the time: no other index has all of them in order. */
function oldestRows(db: Database, runtime: Runtime): Seen {
  const first = (table: string) => {
    const created = firstValue(db, `SELECT created FROM ${table} ORDER BY id LIMIT 1`)
    return created === undefined ? null : new Date(Number(created))
  }
  return oldest({
    live: first('oncue_jobs'),
    finished: first('oncue_history'),
    now: new Date(runtime.now()),
  })
}
