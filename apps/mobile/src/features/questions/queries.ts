import type { Outputs } from '@oncue/sdk'
import type { Read } from '../../lib/api.tsx'

export type Question = Outputs['jobs']['questions'][number]

export const MOST_QUESTIONS = 100

/** Of all jobs, the oldest first. */
export const openQuestions: Read<Question[]> = {
  key: ['jobs.questions'],
  call: (client, options) => client.jobs.questions({ limit: MOST_QUESTIONS }, options),
  everyMs: 10_000,
}

/** Of one job. Asked anew when its stream tells something. */
export const questionsOf = (id: string, enabled: boolean): Read<Question[]> => ({
  key: ['jobs.questions', id],
  call: (client, options) => client.jobs.questions({ id }, options),
  enabled,
})
