import { isOncueError } from '@oncue/sdk'
import { ageInOne, timeOrDate } from '../../lib/format.ts'
import type { Question } from './queries.ts'

/** Why a question takes no answer any more; null: the error is about something else. */
export function closedInWords(error: unknown): string | null {
  if (!isOncueError(error)) return null
  switch (error.code) {
    case 'ALREADY_ANSWERED': {
      const by = error.details?.by
      return typeof by === 'string' ? `${by} has already answered this` : 'This was already answered'
    }
    case 'QUESTION_TIMED_OUT':
      return 'Too late: the job went on without an answer'
    case 'NOT_ASKED':
      return 'The job no longer asks this'
    case 'JOB_FINISHED':
      return 'The job has finished, without this answer'
    case 'JOB_NOT_FOUND':
      return 'The job no longer exists'
    default:
      return null
  }
}

/** "open for 2 d, until 5 Nov" */
export function openInWords({ since, until }: Pick<Question, 'since' | 'until'>, now: number): string {
  return `open for ${ageInOne(since, now)}${until ? `, until ${timeOrDate(until, now)}` : ''}`
}
