import type { Outputs } from '@oncue/sdk'
import type { Read } from '../../lib/api.tsx'

export type Schedule = Outputs['schedules']['list'][number]

export const scheduleList: Read<Schedule[]> = {
  key: ['schedules.list'],
  call: (client, options) => client.schedules.list(undefined, options),
  everyMs: 10_000,
}

export const schedulePreview = (cron: string, timezone: string): Read<Outputs['schedules']['preview']> => ({
  key: ['schedules.preview', cron, timezone],
  call: (client, options) => client.schedules.preview({ cron, timezone, count: 3 }, options),
  enabled: cron !== '' && timezone !== '',
})
