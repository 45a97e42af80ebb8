import type { Workers } from '@oncue/core'
import { createWorkers as createReportWorkers } from './cron-report/workers.ts'
import { createWorkers as createMailWorkers } from './mail-digest/workers.ts'
import { embed, Library } from './rag-index/library.ts'
import { createWorkers as createIndexWorkers } from './rag-index/workers.ts'

const UNREAD = ['Your build is green', 'Somebody has answered you', 'The report of January is ready']
const CATS =
  'A cat sleeps for most of the day. Its whiskers tell it how wide a gap is. Kittens drink milk, grown cats should not.'
const DAY_MS = 86_400_000

/** The examples that need nothing from outside, for `pnpm start`. */
export function createExampleWorkers(reports: string): Workers[] {
  const library = new Library()
  library.add('cats', CATS)
  const sales = [{ at: new Date(Date.now() - DAY_MS), amount: 40 }]
  return [
    createMailWorkers({ unread: async () => UNREAD, send: async () => {} }),
    createIndexWorkers(library, embed),
    createReportWorkers(sales, reports),
  ]
}
