import type { Job, JobStatus } from '@oncue/core'
import type { z } from 'zod'
import type { commandStatusSchema, registrySchema } from './shapes.ts'

type CommandStatus = z.input<typeof commandStatusSchema>

/** The words of a command line system for what Oncue calls pending and processing. */
const STATUSES: Record<JobStatus, CommandStatus['status']> = {
  blocked: 'queued',
  pending: 'queued',
  processing: 'running',
  completed: 'completed',
  failed: 'failed',
  cancelled: 'failed',
}

export function commandStatusOf(job: Job): CommandStatus {
  const { id, status, result, created, updated, progress } = job
  return {
    job_id: id,
    status: STATUSES[status],
    result: result ?? null,
    error_message: errorMessageOf(job),
    created,
    updated,
    progress: progress ?? null,
  }
}

/** Also of the last run, while the job waits for the next. */
function errorMessageOf({ status, lastError }: Job): string | null {
  if (status === 'completed') return null
  if (lastError) return lastError.message
  return status === 'cancelled' ? 'The command was cancelled' : null
}

export function registryOf(topics: readonly string[]): z.input<typeof registrySchema> {
  const byApp = new Map<string, string[]>()
  for (const topic of topics) {
    const [app, command] = topic.includes(':') ? topic.split(':') : ['', topic]
    if (app === undefined || command === undefined) continue
    byApp.set(app, [...(byApp.get(app) ?? []), command])
  }
  return { total_commands: topics.length, commands_by_app: Object.fromEntries(byApp) }
}
