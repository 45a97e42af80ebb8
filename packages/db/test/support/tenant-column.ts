import type { NewJob } from '@oncue/core'
import { JOB_COLUMNS, type JobColumn } from '../../src/job-columns.ts'

/** A column that a user could ask for. Loaded first, because modules build SQL from the table while they load. */
const tenant: JobColumn = {
  type: 'text',
  enqueue: (job) => (job as WithTenant<NewJob>).tenant ?? null,
  in: ['extras', 'history', 'requeue', 'replace', 'list'],
}
Object.assign(JOB_COLUMNS, { tenant })

export type WithTenant<T> = T & { readonly tenant?: string | null }
