import { JOB_STATUSES, PENDING_KINDS } from '@oncue/core'
import { formatDuration } from '@oncue/runtime'
import type { Command } from 'commander'
import { implement, withStore } from './command.ts'
import { fields } from './format.ts'

interface Options {
  readonly queue?: string
  readonly topic?: string
}

export function addStats(program: Command): void {
  implement<Options>(
    program
      .command('stats')
      .description('job counts by status, success rate and average run')
      .option('--queue <queue>', 'of this queue')
      .option('--topic <topic>', 'of this topic'),
    ['', '--queue high --json'],
    withStore('counting', async (store, { options: { queue, topic } }) => {
      const stats = await store.stats({ queue, topic })
      // Without a finished job there is no rate and no average; a cancelled one may have run.
      const isNew = stats.completed + stats.failed === 0
      const success = `${(Math.floor(stats.successRate * 1_000) / 10).toFixed(1)}%`
      const text = fields([
        ...JOB_STATUSES.flatMap((status) => [
          [status, number(stats[status])] as const,
          ...(status === 'pending'
            ? [
                ...PENDING_KINDS.map((kind) => [`  ${kind}`, number(stats[kind])] as const),
                ['suspended', number(stats.suspended)] as const,
              ]
            : []),
        ]),
        ['success', isNew ? '–' : success],
        ['average run', isNew && stats.averageRunMs === 0 ? '–' : formatDuration(stats.averageRunMs)],
      ])
      return { text, json: stats }
    }),
  )
}

const number = (value: number) => value.toLocaleString('en-US')
