import type { Outputs } from '@oncue/sdk'
import { minutesAgo } from './alerts.ts'
import { JOB_ID } from './job.ts'

type Question = Outputs['jobs']['questions'][number]

/** A refund that waits for an operator, unless told otherwise. */
export function questionOf(differs: Partial<Question> = {}): Question {
  const properties = { ok: { type: 'boolean', title: 'Pay it back?' }, note: { type: 'string' } }
  return {
    ...{ id: JOB_ID, name: 'approve', topic: 'refund', queue: 'default', question: 'Refund 5 €?' },
    ...{ schema: { type: 'object', properties, required: ['ok'] }, role: 'operator' },
    ...{ since: minutesAgo(2 * 24 * 60), until: null, refused: null },
    ...differs,
  }
}
