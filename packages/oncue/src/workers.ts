import type { WorkerRow } from '@oncue/db'
import { plain } from '@oncue/db/cli'
import type { Command } from 'commander'
import { implement, withStore } from './command.ts'
import { fromNow, styled, table } from './format.ts'
import { formatEnd } from './top-view.ts'

export function addWorkers(program: Command): void {
  implement<{ readonly ended?: true }>(
    program
      .command('workers')
      .description('list workers, with --ended also those that stopped or were lost in the last 7 days')
      .option('--ended', 'also workers that stopped or were lost'),
    ['', '--ended --json'],
    withStore('reading', async (store, { options: { ended } }) => {
      const [workers, now] = await Promise.all([store.workers({ ended }), store.now()])
      const text = workers.length
        ? table(
            TITLES,
            workers.map((worker) => toRow(worker, now)),
          )
        : 'no workers'
      return { text, json: workers }
    }),
  )
}

const TITLES = ['ID', 'HOST', '>PID', 'VERSION', '>BUSY', 'QUEUES', 'STARTED', 'SEEN', 'STATE']

function toRow(worker: WorkerRow, now: Date): string[] {
  const { id, host, pid, version, running, concurrency, queues, startedAt, lastBeat, missingSince } = worker
  return [
    id,
    plain(host),
    String(pid),
    plain(version),
    `${running}/${concurrency}`,
    plain(queues.join(',')),
    fromNow(startedAt, now),
    fromNow(lastBeat, now),
    missingSince ? styled('red', 'missing') : formatEnd(worker, now),
  ]
}
