import { type CommitStatements, endedBefore, knownCommit, staleCommit } from '../portable/outcomes.ts'
import { driveIn, type Steps } from '../queue/transaction.ts'
import { type Rename, renamed } from '../schema.ts'
import { toOncueError } from './errors.ts'
import type { Query } from './sql.ts'
import * as statements from './sql-durable.ts'

type Options = {
  readonly rename: Rename
  /** Null except in tests. */
  readonly now: () => Date | null
}

/** Needs no connection but the caller's. */
export function createCommits({ rename, now }: Options): CommitStatements {
  return {
    // No lock is needed before the last statement.
    async openCommit() {},

    async commit(result, tx) {
      function* steps(): Steps<void> {
        const [row] = yield reading(statements.commit(result, now()))
        if (row?.state === 'stale') throw staleCommit(result)
        if (row?.state === 'known') throw knownCommit(result)
      }
      await driveIn(tx, renamed(steps(), rename))
    },

    async complete(run, tx, before) {
      let within: string | null = null
      if (before) {
        // Sent before anything is waited for: a call that is not awaited must not end the job outside of its transaction.
        within = await driveIn(tx, asksTransaction())
        await before()
      }
      function* steps(): Steps<void> {
        const [row] = yield reading(statements.complete(run, now(), within))
        if (Number(row?.stale) < 0) throw endedBefore(run)
        if (Number(row?.stale) > 0) throw staleCommit(run)
      }
      await driveIn(tx, renamed(steps(), rename)).catch((error) => {
        const ours = toOncueError(error)
        // Otherwise the driver's own, as of the caller's other statements.
        throw ours.code === 'UNSUPPORTED_ISOLATION' ? ours : error
      })
    },
  }
}

function* asksTransaction(): Steps<string> {
  const [row] = yield reading(statements.TRANSACTION)
  return String(row?.id)
}

function reading({ text, values }: Query) {
  return { text, values, reads: true }
}
