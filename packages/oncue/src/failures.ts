import type { FailureGroup } from '@oncue/db'
import { plain, refuse, toWhole } from '@oncue/db/cli'
import type { Command } from 'commander'
import { toPast } from './arguments.ts'
import { implement, withStore } from './command.ts'
import { errorInWords, fromNow, styled, table } from './format.ts'

interface Options {
  readonly queue?: string
  readonly topic?: string
  readonly fingerprint?: string
  readonly text?: string
  readonly since?: Date
  readonly sort?: 'latest' | 'largest'
  readonly limit: number
}

export function addFailures(program: Command): void {
  implement<Options>(
    program
      .command('failures')
      .description('list errors: how many jobs retry or gave up, and when the next is tried')
      .option('--queue <queue>', 'of this queue')
      .option('--topic <topic>', 'of this topic')
      .option('--fingerprint <hash>', 'only this error')
      .option('--text <text>', 'with this in the class or message')
      .option('--since <time>', 'count jobs that gave up since: 2h, 7d, or a time; default: 24h', toPast)
      .option('--sort <order>', 'latest or largest first; default: latest', toSort)
      .option('--limit <number>', 'how many', toWhole(1, 1_000), 20),
    ['', '--sort largest --queue mail', '--text Timeout --json'],
    withStore('reading', async (store, { options }) => {
      const [groups, now] = await Promise.all([store.failures(options), store.now()])
      const rows = groups.map((group) => [group.fingerprint, ...failureCells(group, now)])
      return {
        text: rows.length ? table(['FINGERPRINT', ...FAILURE_HEADS], rows) : 'no failures',
        json: groups,
      }
    }),
  )
}

function toSort(text: string): NonNullable<Options['sort']> {
  return text === 'latest' || text === 'largest' ? text : refuse('Use latest or largest.')
}

export const FAILURE_HEADS = ['>RETRYING', '>GAVE UP', '>NEXT TRY', '>LAST', 'TOPIC', 'ERROR']

export function failureCells(group: FailureGroup, now: Date): string[] {
  const { retrying, undoing, retryingIsExact, failed, nextTryAt, lastSeen, topics, sample } = group
  const number = (count: number) => count.toLocaleString('en-US')
  const live = [
    ...(retrying > 0 || undoing === 0 ? [`${retryingIsExact ? '' : '≥ '}${number(retrying)}`] : []),
    ...(undoing > 0 ? [`${number(undoing)} undoing`] : []),
  ]
  return [
    styled('yellow', live.join(', ')),
    styled('red', number(failed)),
    fromNow(nextTryAt, now),
    fromNow(lastSeen, now),
    plain(topics.join(','), 32),
    sample.error ? plain(errorInWords({ ...group, code: sample.error.code }), 100) : '',
  ]
}
