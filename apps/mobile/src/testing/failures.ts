import type { Outputs } from '@oncue/sdk'
import { NOW } from './health.ts'

type FailureGroup = Outputs['jobs']['failures'][number]
type BulkOperation = Outputs['bulkOperations']['get']

export const BULK_OPERATION_ID = '0199a1b2-0000-7000-8000-000000000001'
const JOB_ID = '0199a1b2-0000-7000-8000-00000000000a'

/** 312 jobs that gave up for the same reason, unless told otherwise. */
export function groupOf(fingerprint: string, differs: Partial<FailureGroup> = {}): FailureGroup {
  return {
    ...{ fingerprint, class: 'SmtpTimeout', message: 'smtp.example.com did not answer' },
    ...{ retrying: 0, undoing: 0, retryingIsExact: true, failed: 312, nextTryAt: null },
    ...{ firstSeen: NOW, lastSeen: NOW, topics: ['digest'], queues: ['mail'] },
    ...{ isNew: false, trend: Array.from({ length: 24 }, (_, index) => index) },
    sample: {
      jobId: JOB_ID,
      error: {
        ...{ class: 'SmtpTimeout', message: 'smtp.example.com did not answer', fingerprint },
        stack:
          'SmtpTimeout: …\n    at send (/app/src/mail.ts:12:9)\n    at run (/app/node_modules/smtp/a.js:1:1)',
      },
    },
    ...differs,
  }
}

export function previewOf(count: number): Outputs['bulkOperations']['preview'] {
  return {
    ...{ asOf: NOW, count, countIsExact: true, byStatus: { failed: count } },
    byError: [{ class: 'SmtpTimeout', message: 'smtp.example.com did not answer', count }],
    ...{ errorKinds: 1, inspected: count },
    sample: count > 0 ? [{ id: JOB_ID, topic: 'digest', queue: 'mail', status: 'failed' }] : [],
  }
}

/** A retry of 312 jobs that has just begun, unless told otherwise. */
export function bulkOperationOf(differs: Partial<BulkOperation> = {}): BulkOperation {
  return {
    ...{
      id: BULK_OPERATION_ID,
      action: 'requeue',
      filter: { fingerprint: 'f00d', status: 'failed' },
      filterError: { class: 'GatewayTimeoutError', message: 'no answer from the bank' },
      asOf: NOW,
    },
    ...{ spreadSeconds: 0, status: 'running', total: 312, totalIsExact: true, done: 0, skipped: {} },
    ...{ canary: null, stopWhenFailing: null, outcomes: null },
    ...{ error: null, by: { id: 'token', name: 'somebody' }, stoppedBy: null },
    ...{ created: NOW, updated: NOW, finishedAt: null },
    ...differs,
  }
}
